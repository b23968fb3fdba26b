import { expect } from 'chai'

import { findScope } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type Answers, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asClaude,
  askToAuthorize,
  authorize,
  authorizeUrl,
  exchange,
  getCode,
  introspect,
  locationOf,
  obtain,
  type Tokens,
} from './support/client.ts'
import { amir, june, marco, notes, olivia, portal, sam, startService } from './support/gatehouse.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage } from './support/storages.ts'
import { answerOf, type Fields, postForm, refusalOf } from './support/wire.ts'

/** Claude asks for what an operator has. */
const operator: Fields = { ...asClaude, scope: 'openid profile courses:read courses:write' }

const toSignIn = /^\/interaction\/[\w-]+\/login$/
const toSiteChoice = /^\/interaction\/[\w-]+\/select_account$/
const toConsent = /^\/interaction\/[\w-]+\/consent$/

describe('/oauth/authorize', () => {
  const service = sharedService()

  // [RFC 9207 §2; RFC 9700 §4.4.2; RFC 9700 §4.4.2.1; MCP Authorization §Authorization Response Validation]
  // [Authorization 10; threat 3; 31]
  describe('names the issuer once in every answer (RFC 9207)', () => {
    const refusals: readonly (readonly [title: string, fields: Fields, error: string])[] = [
      ['without a response_type', { response_type: undefined }, 'invalid_request'],
      ['with no scope', { scope: undefined, resource: undefined }, 'invalid_scope'],
      ['with unknown scopes only', { scope: 'courses:delete magic' }, 'invalid_scope'],
      [
        'with an operator scope from a member client',
        { scope: 'openid courses:read' },
        'invalid_scope',
      ],
      [
        'with both audiences from a member client',
        { scope: 'account:read courses:read' },
        'invalid_scope',
      ],
      ['with member scopes and no resource', { resource: undefined }, 'invalid_target'],
      ['with a foreign resource', { resource: 'https://elsewhere.example' }, 'invalid_target'],
      ['with prompt=none and nobody signed in', { prompt: 'none' }, 'login_required'],
    ]
    for (const [title, fields, error] of refusals) {
      it(`${title}: ${error}`, async () => {
        const answer = await askToAuthorize(service().url, fields)
        expect(answer.status).to.equal(303)
        const target = locationOf(answer)
        expect(target.origin + target.pathname).to.equal(notes.redirectUri)
        const told = target.searchParams
        expect(told.get('error')).to.equal(error)
        expect(told.getAll('iss')).to.deep.equal([service().url])
        expect(told.getAll('state')).to.deep.equal(['the-state'])
        expect(told.has('code')).to.equal(false)
      })
    }

    it('with a code', async () => {
      const answer = await authorize(service().url)
      expect([...answer.keys()].sort()).to.deep.equal(['code', 'iss', 'state'])
      expect(answer.get('iss')).to.equal(service().url)
      expect(answer.get('state')).to.equal('the-state')
    })

    it('when the person refuses', async () => {
      const answer = await authorize(service().url, {}, { ...sam, refuse: true })
      expect(answer.get('error')).to.equal('access_denied')
      expect(answer.getAll('iss')).to.deep.equal([service().url])
      expect(answer.get('state')).to.equal('the-state')
    })

    it('in the fragment', async () => {
      const answer = await askToAuthorize(service().url, {
        response_mode: 'fragment',
        prompt: 'none',
      })
      const told = new URLSearchParams(locationOf(answer).hash.slice(1))
      expect(told.getAll('iss')).to.deep.equal([service().url])
      expect(told.get('error')).to.equal('login_required')
    })

    it('in a form that submits itself, which its page permits by name', async () => {
      const answer = await askToAuthorize(service().url, {
        response_mode: 'form_post',
        prompt: 'none',
      })
      expect(answer.body).to.include(`name="iss" value="${service().url}"`)
      expect(answer.body).to.include(`action="${notes.redirectUri}"`)
      const policy = answer.headers.get('content-security-policy')
      expect(policy).to.match(/form-action 'self' https:\/\/notes\.example[; ]/)
      expect(policy).to.match(/script-src[^;]*'sha256-/)
    })
  })

  // [RFC 6749 §3.1.2.2; RFC 6749 §3.1.2.3; RFC 9700 §4.1.3; OpenID Connect Core §3.1.2.1; Authorization 3]
  describe('takes a redirect_uri exactly as it is registered [design 19]', () => {
    const native = notes.clientId
    const web = portal.clientId
    const addresses: readonly (readonly [
      client: string,
      address: string | undefined,
      good: boolean,
    ])[] = [
      [native, 'https://notes.example/callback', true],
      // RFC 8252 §7.3: any port of a loopback address, and nothing else of it.
      [native, 'http://127.0.0.1/callback', true],
      [native, 'http://127.0.0.1:51234/callback', true],
      [native, '', false],
      [native, undefined, false],
      [web, 'http://127.0.0.1:8787/callback', true],
      [web, 'http://127.0.0.1:8788/callback', false],
      [web, 'http://127.0.0.1/callback', false],
      [web, undefined, false],
      // The only one that is registered.
      ['integration-chatgpt', undefined, false],
    ]
    for (const [client_id, redirect_uri, good] of addresses) {
      it(`${good ? 'accepts' : 'refuses'} ${JSON.stringify(redirect_uri) ?? 'none'} of ${client_id}`, async () => {
        const answer = await askToAuthorize(service().url, { client_id, redirect_uri })
        if (good) {
          expect(answer.status).to.equal(303)
          expect(answer.headers.get('location')).to.match(toSignIn)
        } else {
          expect(answer.status).to.equal(400)
          expect(answer.headers.get('location')).to.equal(null)
          expect(answer.body).to.include('id="error-page"')
        }
      })
    }
  })

  // [Authentication 6.2; 21]
  describe('reserves account scopes to member clients (Authentication 6)', () => {
    for (const [title, fields] of [
      ['before it looks at resource', { resource: undefined }],
      ['also with a foreign resource', { resource: 'https://elsewhere.example' }],
      ['also with the right resource', {}],
      ['also beside operator scopes', { scope: 'courses:read account:read' }],
      ['to read and to write', { scope: 'openid account:write' }],
    ] as const) {
      it(`${title}: a vendor platform gets invalid_scope`, async () => {
        const scope = 'openid account:read'
        const answer = await askToAuthorize(service().url, { ...asClaude, scope, ...fields })
        expect(locationOf(answer).searchParams.get('error')).to.equal('invalid_scope')
      })
    }
  })

  it('ignores an unknown scope beside known ones [OpenID Connect Core §3.1.2.1]', async () => {
    const scope = 'openid account:read courses:delete'
    const tokens = await obtain(service().url, { authorization: { scope } })
    expect(tokens.scope).to.equal('openid account:read')
  })

  // [RFC 8707 §2; RFC 8707 §2.1; MCP Authorization §Resource Parameter Implementation;
  // MCP Authorization §Canonical Server URI]
  // [Authorization 5.2; Authentication 5.1; 17]
  describe('binds every accepted spelling of resource to the one audience [design 3]', () => {
    const spellings: readonly (readonly [
      title: string,
      spell: (url: string) => string | string[],
    ])[] = [
      ['the origin', (url) => url],
      ['the origin with a slash', (url) => `${url}/`],
      ['the tool endpoint', (url) => `${url}/mcp`],
      ['the Member API', (url) => `${url}/member/graphql`],
      ['an upper-case scheme', (url) => url.replace('http', 'HTTP')],
      ['two of them', (url) => [`${url}/mcp`, url]],
    ]
    for (const [title, spell] of spellings) {
      it(title, async () => {
        const { url } = service()
        const tokens = await obtain(url, {
          authorization: { resource: spell(url) },
          token: { resource: spell(url) },
        })
        const { body } = await introspect(url, tokens.access_token)
        expect(body).to.include({ active: true, aud: url })
      })
    }

    // [RFC 8707 §2.2]
    it('another spelling at the token endpoint than before', async () => {
      const { url } = service()
      const tokens = await obtain(url, {
        authorization: { resource: `${url}/mcp` },
        token: { resource: `${url}/` },
      })
      expect((await introspect(url, tokens.access_token)).body).to.include({ aud: url })
    })

    for (const [title, spell] of [
      ['another path', (url: string) => `${url}/other`],
      ['a path below', (url: string) => `${url}/mcp/more`],
      ['another case of the path', (url: string) => `${url}/MCP`],
      ['a query', (url: string) => `${url}/mcp?x=1`],
      ['a fragment', (url: string) => `${url}/mcp#x`],
      ['an empty query', (url: string) => `${url}/mcp?`],
      ['an empty fragment', (url: string) => `${url}/mcp#`],
      ['a way around', (url: string) => `${url}/other/../mcp`],
      ['a backslash', (url: string) => `${url}\\mcp`],
      ['a blank around it', (url: string) => ` ${url}/mcp`],
      ['a person in it', (url: string) => url.replace('//', '//someone@')],
      ['an empty person in it', (url: string) => url.replace('//', '//@')],
      ['another port', (url: string) => `${url}0`],
      ['no URI at all', () => 'mcp'],
      ['an empty value', () => ''],
      ['a foreign one beside the right one', (url: string) => [url, 'https://elsewhere.example']],
    ] as const) {
      // [RFC 8707 §2; Authorization 5.1; Authentication 5.2]
      it(`refuses ${title} with invalid_target`, async () => {
        const resource = spell(service().url)
        const answer = await askToAuthorize(service().url, { resource })
        expect(locationOf(answer).searchParams.get('error')).to.equal('invalid_target')
      })
    }

    it('operator scopes without resource are bound to the origin too', async () => {
      const { url } = service()
      const tokens = await obtainAsClaude(url, { ...operator, resource: undefined })
      expect((await introspect(url, tokens.access_token)).body).to.include({ aud: url })
    })

    it('identity scopes without resource are a plain sign-in, bound to nothing and to no site', async () => {
      const { url } = service()
      const scope = 'openid profile'
      const tokens = await obtainAsClaude(url, { ...asClaude, scope, resource: undefined })
      const { body } = await introspect(url, tokens.access_token)
      expect(body).to.include({ active: true, scope })
      expect(body).not.to.have.any.keys('aud', 'org_id', 'roles')
    })
  })

  describe('by POST [design 18] [29]', () => {
    // [OpenID Connect Core §3.1.2.1]
    it('leads to GET with the same parameters', async () => {
      const { url } = service()
      const { searchParams, pathname } = authorizeUrl(url)
      const answer = await postForm(url + pathname, Object.fromEntries(searchParams))
      expect(answer.status).to.equal(303)
      expect(answer.headers.get('cache-control')).to.equal('no-store')
      const target = new URL(answer.headers.get('location') ?? '', url)
      expect([...target.searchParams]).to.deep.equal([...searchParams])
      const next = await fetch(target, { redirect: 'manual' })
      expect(next.headers.get('location')).to.match(toSignIn)
    })

    it('keeps repeated parameters and characters that need escaping', async () => {
      const { url } = service()
      const fields = { state: 'ä &=+%\r\nx: <b>', resource: [url, `${url}/mcp`] }
      const { searchParams } = authorizeUrl(url, fields)
      const answer = await answerOf(
        await fetch(url + paths.authorization, {
          method: 'POST',
          body: searchParams,
          redirect: 'manual',
        }),
      )
      const target = new URL(answer.headers.get('location') ?? '', url)
      expect([...target.searchParams]).to.deep.equal([...searchParams])
    })

    it('takes a form and nothing else', async () => {
      const answer = await answerOf(
        await fetch(service().url + paths.authorization, {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'application/json' },
        }),
      )
      expect(refusalOf(answer)).to.equal('415 invalid_request')
    })
  })

  describe('lets a person with several sites choose one [design 15]', () => {
    it('asks Amir, admin at two sites, and binds the grant to the one he names', async () => {
      const { url } = service()
      for (const site of ['sit_northlight', 'sit_open_kitchen']) {
        const tokens = await obtainAsClaude(url, operator, { ...amir, site })
        const { body } = await introspect(url, tokens.access_token)
        expect(body).to.deep.include({ org_id: site, roles: ['admin'] })
      }
    })

    it('remembers his choice, and asks again for prompt=select_account', async () => {
      const { url } = service()
      const person = await signedIn(url, { ...amir, site: 'sit_open_kitchen' })
      const request = authorizeUrl(url, operator)
      expect((await person.open(request)).headers.get('location')).to.match(toSiteChoice)
      await person.authorize(request, asClaude.redirect_uri)

      const again = await person.open(request)
      expect(again.headers.get('location')).to.match(/^https:\/\/claude\.ai\/.*code=/)
      const changing = authorizeUrl(url, { ...operator, prompt: 'select_account' })
      expect((await person.open(changing)).headers.get('location')).to.match(toSiteChoice)
    })

    it('binds the grant to another site when he chooses again', async () => {
      const { url } = service()
      const kitchen = await signedIn(url, { ...amir, site: 'sit_open_kitchen' })
      await kitchen.authorize(authorizeUrl(url, operator), asClaude.redirect_uri)
      const request = authorizeUrl(url, { ...operator, prompt: 'select_account' })
      const choice = new URL((await kitchen.open(request)).headers.get('location') ?? '', url)
      const page = await (await kitchen.open(choice)).text()
      const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
      const chosen = await kitchen.open(choice, {
        method: 'POST',
        body: new URLSearchParams({ csrf, site: 'sit_northlight' }),
      })
      const resumed = new URL(chosen.headers.get('location') ?? '', url)
      const answer = await kitchen.authorize(resumed, asClaude.redirect_uri)
      const tokens = await exchangeAsClaude(url, answer.searchParams.get('code') ?? '')
      expect((await introspect(url, tokens.access_token)).body).to.include({
        org_id: 'sit_northlight',
      })
    })

    it('takes no site at which he is neither owner nor admin', async () => {
      const { url } = service()
      const person = await signedIn(url, amir)
      const { headers } = await person.open(authorizeUrl(url, operator))
      const choice = new URL(headers.get('location') ?? '', url)
      const page = await (await person.open(choice)).text()
      const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
      for (const site of ['sit_elsewhere', '']) {
        const body = new URLSearchParams({ csrf, site })
        const answer = await person.open(choice, { method: 'POST', body })
        expect(answer.status).to.equal(422)
        expect(await answer.text()).to.include('id="site-problem"')
      }
    })

    it('does not ask Olivia, who has one site', async () => {
      const { url } = service()
      const person = await signedIn(url, olivia)
      const answer = await person.open(authorizeUrl(url, operator))
      expect(answer.headers.get('location')).to.match(toConsent)
      const again = await person.open(authorizeUrl(url, { ...operator, prompt: 'select_account' }))
      const step = await person.open(new URL(again.headers.get('location') ?? '', url))
      expect(step.status).to.equal(303)
    })

    it('does not ask Marco, owner at one site and student at another', async () => {
      const { url } = service()
      const person = await signedIn(url, marco)
      const answer = await person.open(authorizeUrl(url, operator))
      expect(answer.headers.get('location')).to.match(toConsent)
      const tokens = await obtainAsClaude(url, operator, marco)
      expect((await introspect(url, tokens.access_token)).body).to.deep.include({
        org_id: 'sit_open_kitchen',
        roles: ['lecturer', 'owner'],
      })
    })

    it('refuses Sam, a student, before any consent', async () => {
      const { url } = service()
      const answer = await authorize(url, operator, sam)
      expect(answer.get('error')).to.equal('access_denied')
      expect(answer.getAll('iss')).to.deep.equal([url])
      const person = await signedIn(url, sam)
      const { headers } = await person.open(authorizeUrl(url, operator))
      expect(headers.get('location')).to.match(/^https:\/\/claude\.ai\/.*error=access_denied/)
    })
  })

  it('forgets a chosen site at which the person operates no longer [design 15]', async () => {
    await using changing = await startService()
    const { url } = changing
    const person = await signedIn(url, { ...amir, site: 'sit_open_kitchen' })
    const request = authorizeUrl(url, operator)
    await person.authorize(request, asClaude.redirect_uri)
    await changing.service.stores.database.kysely
      .deleteFrom('site_role')
      .where('person_id', '=', 'per_amir')
      .where('site_id', '=', 'sit_open_kitchen')
      .execute()
    expect((await person.open(request)).headers.get('location')).to.match(toConsent)
    const answer = await person.authorize(request, asClaude.redirect_uri)
    const tokens = await exchangeAsClaude(url, answer.searchParams.get('code') ?? '')
    expect((await introspect(url, tokens.access_token)).body).to.include({
      org_id: 'sit_northlight',
    })
  })

  it('asks nothing for prompt=none, and says that a site would have to be chosen', async () => {
    const { url } = service()
    const person = await signedIn(url, amir)
    const request = authorizeUrl(url, { ...operator, prompt: 'none' })
    const { searchParams } = locationOf(await answerOf(await person.open(request)))
    expect(searchParams.get('error')).to.match(/^(account_selection|interaction)_required$/)
    expect(searchParams.getAll('iss')).to.deep.equal([url])
  })

  for (const prompt of ['select_account', 'login', 'consent', 'login consent select_account']) {
    it(`goes through with prompt=${prompt} where there is no site to choose`, async () => {
      const { url } = service()
      expect((await authorize(url, { prompt })).has('code')).to.equal(true)
      const plain = { ...asClaude, scope: 'openid', resource: undefined, prompt }
      expect((await authorize(url, plain)).has('code')).to.equal(true)
    })
  }

  // [OpenID Connect Core §3.1.2.4]
  it('tells the person of claims that are asked for one by one [OpenID Connect Core §5.5]', async () => {
    const { url } = service()
    const consentPage = async (fields: Fields) => {
      const person = await signedIn(url, sam)
      const { headers } = await person.open(authorizeUrl(url, fields))
      return await (await person.open(new URL(headers.get('location') ?? '', url))).text()
    }
    const scope = 'openid account:read'
    const sentence = findScope('email')?.sentence ?? '-'
    expect(await consentPage({ scope }))
      .to.include('consent-page')
      .and.not.include(sentence)
    const claims = JSON.stringify({ id_token: { email: null } })
    expect(await consentPage({ scope, claims })).to.include(sentence)
  })

  // [What the service does 12]
  it('lets nobody without a role at its site authorize a site client [design 16]', async () => {
    const { url } = service()
    const answer = await authorize(url, {}, june)
    expect(answer.get('error')).to.equal('access_denied')
    expect((await authorize(url, {}, marco)).get('code')).to.be.a('string')
  })

  describe('remembers a consent [design 17]', () => {
    it('asks for no consent twice, not even of a native application of the site', async () => {
      const { url } = service()
      const person = await signedIn(url, sam)
      const request = authorizeUrl(url)
      expect((await person.open(request)).headers.get('location')).to.match(toConsent)
      await person.authorize(request, notes.redirectUri)
      expect(
        locationOf(await answerOf(await person.open(request))).searchParams.has('code'),
      ).to.equal(true)
      const silent = await person.open(authorizeUrl(url, { prompt: 'none' }))
      expect(locationOf(await answerOf(silent)).searchParams.has('code')).to.equal(true)
    })

    it('asks again for a further scope, and for prompt=consent', async () => {
      const { url } = service()
      const person = await signedIn(url, sam)
      await person.authorize(authorizeUrl(url), notes.redirectUri)
      const more = authorizeUrl(url, { scope: `${MEMBER_SCOPE} account:write` })
      expect((await person.open(more)).headers.get('location')).to.match(toConsent)
      const anew = authorizeUrl(url, { prompt: 'consent' })
      expect((await person.open(anew)).headers.get('location')).to.match(toConsent)
      const silent = authorizeUrl(url, { scope: 'openid account:write', prompt: 'none' })
      const { searchParams } = locationOf(await answerOf(await person.open(silent)))
      expect(searchParams.get('error')).to.match(/^(consent|interaction)_required$/)
      expect(searchParams.getAll('iss')).to.deep.equal([url])
    })

    it('grants no more than was asked, whatever was consented before', async () => {
      const { url } = service()
      const person = await signedIn(url, sam)
      await person.authorize(authorizeUrl(url), notes.redirectUri)
      const less = authorizeUrl(url, { scope: 'openid account:read' })
      const answer = await person.authorize(less, notes.redirectUri)
      const { body } = await exchange(url, answer.searchParams.get('code') ?? '')
      expect(body).to.include({ scope: 'openid account:read' })
    })
  })

  // [RFC 9700 §2.6; 33]
  it("is never readable from another origin's page [design 28]", async () => {
    const { url } = service()
    const headers = { origin: 'https://elsewhere.example' }
    const answers = [
      await fetch(authorizeUrl(url), { headers, redirect: 'manual' }),
      await fetch(authorizeUrl(url, { client_id: 'nobody' }), { headers }),
      await fetch(authorizeUrl(url), {
        method: 'OPTIONS',
        headers: { ...headers, 'access-control-request-method': 'GET' },
      }),
    ]
    for (const answer of answers) {
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-'))).to.deep.equal(
        [],
      )
    }
  })

  for (const path of ['/OAuth/Authorize', '/oauth/authorize/']) {
    it(`has one address only: ${path} is 404`, async () => {
      const { search } = authorizeUrl(service().url)
      const answer = await answerOf(await fetch(service().url + path + search))
      expect(refusalOf(answer)).to.equal('404 not_found')
    })
  }

  it('lets a disabled account in no more', async () => {
    const refused = await getCode(
      service().url,
      {},
      { login: 'theo@northlight.example', password: 'correct-horse-theo' },
    ).catch(String)
    expect(refused).to.include('the account or its password is wrong')
  })
})

describe('/oauth/authorize, for a client that may not ask any more', () => {
  it('sends unauthorized_client back when the operator switched the client off', async () => {
    await using service = await startService()
    const { kysely } = service.service.stores.database
    await kysely
      .updateTable('oauth_application')
      .set({ disabled_at: 1 })
      .where('client_id', '=', notes.clientId)
      .execute()
    const { searchParams } = locationOf(await askToAuthorize(service.url))
    expect(searchParams.get('error')).to.equal('unauthorized_client')
    expect(searchParams.getAll('iss')).to.deep.equal([service.url])
    expect(searchParams.get('state')).to.equal('the-state')
  })

  it('gives a site client no operator scope, not even one that an operator chose [design 2]', async () => {
    await using service = await startService()
    const { kysely } = service.service.stores.database
    await kysely
      .insertInto('oauth_application_scope')
      .values({ client_id: notes.clientId, scope: 'courses:read' })
      .execute()
    const { searchParams } = locationOf(
      await askToAuthorize(service.url, { scope: 'openid courses:read' }),
    )
    expect(searchParams.get('error')).to.equal('invalid_scope')
  })

  it('sends unauthorized_client back when the site switched MCP connections off', async () => {
    await using service = await startService()
    const { kysely } = service.service.stores.database
    await kysely.deleteFrom('site_feature').where('site_id', '=', 'sit_northlight').execute()
    const { searchParams } = locationOf(await askToAuthorize(service.url))
    expect(searchParams.get('error')).to.equal('unauthorized_client')
  })

  it('sends unauthorized_client back when a vendor platform was switched off', async () => {
    await using service = await startService()
    const { kysely } = service.service.stores.database
    await kysely
      .insertInto('integration_override')
      .values({ client_id: asClaude.client_id, disabled_at: 1, note: null, updated_at: 1 })
      .execute()
    const { searchParams } = locationOf(await askToAuthorize(service.url, operator))
    expect(searchParams.get('error')).to.equal('unauthorized_client')
  })

  it('sends nobody to an address of a deleted client', async () => {
    await using service = await startService()
    const { kysely } = service.service.stores.database
    await kysely
      .updateTable('oauth_application')
      .set({ deleted_at: 1 })
      .where('client_id', '=', notes.clientId)
      .execute()
    const answer = await askToAuthorize(service.url)
    expect(answer.status).to.equal(400)
    expect(answer.headers.get('location')).to.equal(null)
    expect(answer.body).to.include('invalid_client')
  })
})

forEachStorage('/oauth/authorize', (start) => {
  it('takes a NUL for one more thing that nobody is called, and not for a fault of the storage', async () => {
    await using service = await start()
    const { url } = service
    const unknown = await askToAuthorize(url, { client_id: 'northlight-notes\0' })
    expect(unknown.status).to.equal(400)
    expect(unknown.body).to.include('invalid_client')
    const refused = await exchange(url, 'x', { client_id: 'a\0b' })
    expect(refusalOf(refused)).to.equal('401 invalid_client')
    const nobody = { login: 'sam@northlight.example\0', password: sam.password }
    const told = await authorize(url, {}, nobody).catch(String)
    expect(told).to.include('the account or its password is wrong')
  })
})

/** A person who has a session already, from a plain sign-in that grants nothing else. */
async function signedIn(url: string, answers: Answers) {
  const person = makeHeadlessPerson(answers)
  const redirectUri = 'https://chatgpt.com/connector_platform_oauth_redirect'
  const fields = { client_id: 'integration-chatgpt', redirect_uri: redirectUri, scope: 'openid' }
  await person.authorize(authorizeUrl(url, { ...fields, resource: undefined }), redirectUri)
  return person
}

async function obtainAsClaude(
  url: string,
  authorization: Fields,
  person: Answers = olivia,
): Promise<Tokens> {
  return await exchangeAsClaude(url, await getCode(url, authorization, person))
}

async function exchangeAsClaude(url: string, code: string): Promise<Tokens> {
  const answer = await exchange(url, code, { ...asClaude, resource: undefined })
  if (answer.status === 200) return answer.body as Tokens
  throw new Error(`no tokens: ${JSON.stringify(answer.body)}`)
}
