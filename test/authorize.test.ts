import { findScope } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import type { Answers, HeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asClaude,
  askToAuthorize,
  asPortal,
  authorize,
  authorizeUrl,
  exchange,
  getCode,
  introspect,
  locationOf,
  obtain,
  obtainCode,
} from './support/client.ts'
import { change, editList, insert, remove } from './support/database.ts'
import { amir, notes, olivia, sam, startService } from './support/gatehouse.ts'
import { follow } from './support/identity-provider.ts'
import { matchesIn, submitPage, targetOf } from './support/page-person.ts'
import { getTokens, MEMBER_SCOPE } from './support/relying-party.ts'
import { english } from './support/sample-pages.ts'
import { fresh } from './support/shared.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { type Fields, get, postForm, postJson, preflight, refusalOf } from './support/wire.ts'

const operator: Fields = { ...asClaude, scope: 'openid profile courses:read courses:write' }

const toSignIn = /^\/interaction\/[\w-]+\/login$/
const toSiteChoice = /^\/interaction\/[\w-]+\/select_account$/
const toConsent = /^\/interaction\/[\w-]+\/consent$/

describe('/oauth/authorize', () => {
  const service = sharedService()
  const url = () => service().url
  /** Sends an authorization request. Returns the URL to which the response redirects. */
  const nextStep = async (person: HeadlessPerson, fields: Fields) =>
    (await person.open(authorizeUrl(url(), fields))).headers.get('location') ?? ''

  // [RFC 9207 §2; RFC 9700 §4.4.2; RFC 9700 §4.4.2.1; MCP Authorization §Authorization Response Validation]
  // [Authorization 10; threat 3; 31]
  it('names the issuer once, and the unchanged state, in the response with a code (RFC 9207)', async () => {
    const state = 'ä&=%"<>+ '.repeat(200)
    const { code, ...granted } = Object.fromEntries(await authorize(url(), { state }))
    expect(code).to.be.a('string')
    expect(granted).to.deep.equal({ iss: url(), state })
  })

  // [RFC 6749 §3.1.2.2; RFC 6749 §3.1.2.3; RFC 9700 §4.1.3; OpenID Connect Core §3.1.2.1; Authorization 3]
  it('accepts a redirect_uri of a web application exactly as it is registered [design 19]', async () => {
    // test/hostile/ tests other spellings, and the ports of native applications.
    const { client_id } = asPortal
    for (const [port, expected] of [
      [':8787', /^303 \/interaction\/[\w-]+\/login$/],
      [':8788', /^400 null$/],
      ['', /^400 null$/],
    ] as const) {
      const redirect_uri = `http://127.0.0.1${port}/callback`
      const { status, headers } = await askToAuthorize(url(), { client_id, redirect_uri })
      expect(`${status} ${headers.get('location')}`, redirect_uri).to.match(expected)
    }
  })

  // [Errors 1]
  it('sends a page to browsers, and JSON to programs, if it cannot redirect', async () => {
    const { href } = authorizeUrl(url(), { client_id: 'unknown' })
    const error_description =
      'This application is not registered with this service. Check its client ID.'
    for (const [accept, type] of [
      ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html'],
      ['application/json', 'application/json'],
      ['*/*', 'application/json'],
    ] as const) {
      const answer = await get(href, ['Accept', accept])
      expect(answer.status).to.equal(400)
      expect(answer.headers.get('content-type')).to.match(new RegExp(`^${type}`))
      if (type === 'application/json')
        expect(answer.body).to.deep.equal({ error: 'invalid_client', error_description })
    }
    const { headers, body } = await get(url() + paths.authorization)
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(body).to.include({ error: 'invalid_request' })
    expect(body.error_description).to.include('client_id')
  })

  // [RFC 6749 §3.1; OpenID Connect Core §3.1.2.1; OpenID Connect Core §11]
  // [Authorization 9; Token response 3]
  it('ignores unknown scopes, offline_access and, without openid, a nonce; no id_token is issued then (Authentication 7)', async () => {
    const scope = 'account:read courses:delete offline_access'
    const tokens = await obtain(url(), { authorization: { scope, nonce: 'one' } })
    expect(tokens.scope).to.equal('account:read')
    expect(tokens).to.not.have.property('id_token')
    const withOpenid = await obtain(url(), { authorization: { scope: `openid ${scope}` } })
    expect(withOpenid.scope).to.equal('openid account:read')
  })

  // [RFC 8707 §2; RFC 8707 §2.1; RFC 8707 §2.2; MCP Authorization §Resource Parameter Implementation; MCP
  // Authorization §Canonical Server URI; Authorization 5.2; Authentication 5.1; 17]
  it('binds every accepted spelling of resource, and operator scopes without it, to one audience [design 3]', async () => {
    for (const [spelled, atToken] of [
      [[`${url()}/mcp`, url()], url()],
      [`${url()}/member/graphql`, `${url()}/`],
    ] as const) {
      const asked = { authorization: { resource: spelled }, token: { resource: atToken } }
      const tokens = await obtain(url(), asked)
      const { body } = await introspect(url(), tokens.access_token)
      expect(body).to.include({ active: true, aud: url() })
    }
    const code = await getCode(url(), { ...operator, resource: undefined }, olivia)
    expect(await claimsOf(url(), code)).to.include({ aud: url() })
  })

  // [OpenID Connect Core §3.1.2.1; 29]
  it('redirects a POST to GET with the same parameters, repeated ones too [design 18]', async () => {
    const fields = { state: 'ä &=+%\r\nx: <b>', resource: [url(), `${url()}/mcp`] }
    const { searchParams, pathname } = authorizeUrl(url(), fields)
    const sent = { ...Object.fromEntries(searchParams), ...fields }
    const redirect = await postForm(url() + pathname, sent)
    const seen = [redirect.status, redirect.headers.get('cache-control')]
    expect(seen).to.deep.equal([303, 'no-store'])
    const target = targetOf(redirect, url())
    expect([...target.searchParams]).to.deep.equal([...searchParams])
    expect((await get(target.href)).headers.get('location')).to.match(toSignIn)
    const asJson = await postJson(url() + paths.authorization, {})
    expect(refusalOf(asJson)).to.equal('415 invalid_request')
  })

  describe('lets a person with several sites choose one [design 15]', () => {
    it('asks Amir, admin at two sites, and remembers his choice until prompt=select_account', async () => {
      const person = await signedIn(url(), { ...amir, site: 'sit_open_kitchen' })
      const silent = new URL(await nextStep(person, { ...operator, prompt: 'none' })).searchParams
      expect(silent.get('error')).to.match(/^(account_selection|interaction)_required$/)
      expect(silent.getAll('iss')).to.deep.equal([url()])
      expect(await nextStep(person, operator)).to.match(toSiteChoice)
      const first = await person.authorize(authorizeUrl(url(), operator), asClaude.redirect_uri)
      const claims = await claimsOf(url(), first.searchParams.get('code') ?? '')
      expect(claims).to.deep.include({ org_id: 'sit_open_kitchen', roles: ['admin'] })
      expect(await nextStep(person, operator)).to.match(/^https:\/\/claude\.ai\/.*code=/)

      const step = await nextStep(person, { ...operator, prompt: 'select_account' })
      expect(step).to.match(toSiteChoice)
      const chosen = await submitPage(person, new URL(step, url()), { site: 'sit_northlight' })
      const resumed = targetOf(chosen, url())
      const { searchParams } = await person.authorize(resumed, asClaude.redirect_uri)
      const changed = await claimsOf(url(), searchParams.get('code') ?? '')
      expect(changed).to.deep.include({ org_id: 'sit_northlight', roles: ['admin'] })
    })

    it('does not ask Olivia, who has one site, and refuses Sam, a student, before any consent', async () => {
      const person = await signedIn(url(), olivia)
      expect(await nextStep(person, operator)).to.match(toConsent)
      const step = await nextStep(person, { ...operator, prompt: 'select_account' })
      expect((await person.open(new URL(step, url()))).status).to.equal(303)
      const refused = new URL(await nextStep(await signedIn(url(), sam), operator))
      expect(refused.href).to.match(/^https:\/\/claude\.ai\/.*error=access_denied/)
      expect(refused.searchParams.getAll('iss')).to.deep.equal([url()])
    })
  })

  for (const prompt of ['select_account', 'login consent select_account']) {
    it(`succeeds with prompt=${prompt} where there is no site to choose`, async () => {
      const plain = { ...asClaude, scope: 'openid', resource: undefined }
      for (const fields of [{ prompt }, { ...plain, prompt }])
        expect((await authorize(url(), fields)).has('code')).to.equal(true)
    })
  }

  // [OpenID Connect Core §3.1.2.4; OpenID Connect Core §5.5.1]
  it('lists individually requested claims on the consent page [OpenID Connect Core §5.5]', async () => {
    const consentPage = async (fields: Fields) =>
      (await follow(await signedIn(url(), sam), authorizeUrl(url(), fields))).text
    const scope = 'openid account:read'
    const sentence = findScope('email')?.sentence.for(english) ?? '-'
    expect(await consentPage({ scope }))
      .to.include('consent-page')
      .and.not.include(sentence)
    const claims = JSON.stringify({ id_token: { email: null } })
    expect(await consentPage({ scope, claims })).to.include(sentence)
  })

  it('remembers consent, but asks again for new scopes and prompt=consent [design 17]', async () => {
    const person = await signedIn(url(), sam)
    expect(await nextStep(person, {})).to.match(toConsent)
    await person.authorize(authorizeUrl(url()), notes.redirectUri)
    for (const silent of [{}, { prompt: 'none' }])
      expect(await nextStep(person, silent)).to.match(/[?&]code=/)
    for (const [isMore, fields] of [
      [true, { scope: `${MEMBER_SCOPE} account:write` }],
      [false, { prompt: 'consent' }],
    ] as const) {
      const step = await nextStep(person, fields)
      expect(step).to.match(toConsent)
      const page = await (await person.open(new URL(step, url()))).text()
      expect(page.includes('id="asks-more"')).to.equal(isMore)
      const added = isMore ? [findScope('account:write')?.sentence.for(english)] : []
      expect(matchesIn(page, /<li>([^<]+) <strong class="tag good">New/g)).to.deep.equal(added)
    }
    const less = authorizeUrl(url(), { scope: 'openid account:read' })
    const { searchParams } = await person.authorize(less, notes.redirectUri)
    const { body } = await exchange(url(), searchParams.get('code') ?? '')
    expect(body).to.include({ scope: 'openid account:read' })
  })

  it('is not readable by pages of other origins [design 28] [RFC 9700 §2.6; 33]', async () => {
    const origin = 'https://elsewhere.example'
    const { href } = authorizeUrl(url())
    for (const { headers } of [
      await get(href, { origin }),
      await get(authorizeUrl(url(), { client_id: 'nobody' }).href, { origin }),
      await preflight(href, 'GET', { origin }),
    ])
      expect([...headers.keys()].filter((name) => name.startsWith('access-'))).to.deep.equal([])
  })
})

describe('/oauth/authorize after a change', () => {
  const service = fresh(startService)
  const client_id = notes.clientId
  const disable = () =>
    change(service().kysely, 'oauth_application', { client_id }, { disabled_at: 1 })
  const addScope = () =>
    editList(service().kysely, client_id, 'scopes', (scopes) => [...scopes, 'courses:read'])
  const turnOff = () => remove(service().kysely, 'site_feature', { site_id: 'sit_northlight' })
  const override = { client_id: asClaude.client_id, disabled_at: 1, updated_at: 1 }
  const disablePlatform = () => insert(service().kysely, 'integration_override', override)
  const addedScope = 'an operator scope that an operator added to a site client [design 2]'
  for (const [title, apply, error, fields] of [
    ['a client that an operator disabled', disable, 'unauthorized_client', {}],
    [addedScope, addScope, 'invalid_scope', { scope: 'openid courses:read' }],
    ['a client of a site that disabled MCP connections', turnOff, 'unauthorized_client', {}],
    ['a platform that an operator disabled', disablePlatform, 'unauthorized_client', operator],
  ] as const) {
    it(`refuses ${title} with ${error}`, async () => {
      await apply()
      const { searchParams } = locationOf(await askToAuthorize(service().url, fields))
      expect(searchParams.get('error')).to.equal(error)
      expect(searchParams.getAll('iss')).to.deep.equal([service().url])
      expect(searchParams.get('state')).to.equal('the-state')
    })
  }

  it('does not redirect to an address of a deleted client', async () => {
    await change(service().kysely, 'oauth_application', { client_id }, { deleted_at: 1 })
    const { status, headers, body } = await askToAuthorize(service().url)
    expect([status, headers.get('location')]).to.deep.equal([400, null])
    expect(body).to.include('invalid_client')
  })
})

const redirects: readonly (readonly [redirectUri: string, remembered: boolean])[] = [
  ['https://notes.example/callback', true],
  ['http://127.0.0.1/callback', false],
  ['http://127.0.0.1:5/callback', false],
  ['com.example.notes:/callback', false],
  // Each connection of ChatGPT has its own redirect URI but the same client_id, so consent to one covers no other.
  ['https://chatgpt.com/connector/oauth/mine', false],
  ['https://chatgpt.com/connector_platform_oauth_redirect', true],
]

describe('consent to an application of a site [design 17] [RFC 8252 §8.6]', () => {
  const running = sharedService()

  before(async () => {
    const uris = redirects.map(([uri]) => uri)
    const further = uris.filter((uri) => !/notes\.example\/|127\.0\.0\.1/.test(uri))
    const add = (list: string[]) => list.concat(further)
    await editList(running().kysely, notes.clientId, 'redirect_uris', add)
  })

  for (const [redirectUri, remembered] of redirects) {
    it(`is ${remembered ? 'remembered' : 'asked for each time'} at ${redirectUri}`, async () => {
      const { person } = await getTokens(running().url)
      const request = authorizeUrl(running().url, { redirect_uri: redirectUri, prompt: 'none' })
      const { href, searchParams } = targetOf(await person.open(request), running().url)
      expect(href.startsWith(redirectUri)).to.equal(true)
      expect(searchParams.has('code')).to.equal(remembered)
      expect(searchParams.get('error')).to.equal(remembered ? null : 'consent_required')
    })
  }
})

forEachStorage('/oauth/authorize', (start) => {
  it('treats a NUL as an unknown name, not as a fault of the store', async () => {
    await using service = await start()
    const refused = await exchange(service.url, 'x', { client_id: 'a\0b' })
    expect(refusalOf(refused)).to.equal('401 invalid_client')
    const nobody = { login: 'sam@northlight.example\0', password: sam.password }
    const told = await authorize(service.url, {}, nobody).catch(String)
    expect(told).to.include('the account or its password is wrong')
  })
})

/** Signs a person in to ChatGPT, with a request that needs no site. Returns the person's browser. */
async function signedIn(url: string, answers: Answers): Promise<HeadlessPerson> {
  const redirect_uri = 'https://chatgpt.com/connector_platform_oauth_redirect'
  const fields = { client_id: 'integration-chatgpt', redirect_uri, scope: 'openid' }
  return (await obtainCode(url, { ...fields, resource: undefined }, answers)).person
}

/** Exchanges a code that was issued to Claude. Returns the introspection response for the access token. */
async function claimsOf(url: string, code: string) {
  const { status, body, text } = await exchange(url, code, { ...asClaude, resource: undefined })
  expect(status, text).to.equal(200)
  return (await introspect(url, body.access_token)).body
}
