import { generateKeyPairSync, type KeyObject } from 'node:crypto'

import { jwtVerify } from 'jose'

import { standardClaims } from '../src/directory/people/provider-presets.ts'
import { SELF_SIGN_UP } from '../src/directory/sites/site-admin.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { authorizeUrl } from './support/client.ts'
import { change, insert, rowOf, rowsOf } from './support/database.ts'
import { olivia, policyWith, type RunningService, sam, startService } from './support/gatehouse.ts'
import {
  follow,
  ISSUER,
  isSignedIn,
  type Lie,
  leave,
  linkIdentity,
  linksOf,
  makeLyingProviders,
  noteOf,
  problemOf,
  setUpApp,
  signInWith,
  submit,
} from './support/identity-provider.ts'
import { mailsWith } from './support/mail-folder.ts'
import { unsignedJwt } from './support/proofs.ts'
import { sharedService } from './support/storages.ts'

type Returning = Parameters<typeof signInWith>[2]

const refusalOn = (page: Awaited<ReturnType<typeof follow>>) => `${page.status} ${problemOf(page)}`

/** Returns the browser sessions, the latest first. */
const sessionsIn = async ({ kysely }: RunningService, where: { person_id?: string } = {}) =>
  (await rowsOf(kysely, 'browser_session', where)).sort((a, b) => b.started_at - a.started_at)

describe('an identity provider that lies', () => {
  let appleKey: KeyObject
  let network: Awaited<ReturnType<typeof makeLyingProviders>>
  const service = sharedService(undefined, async () => {
    network = await makeLyingProviders()
    const row = { clientId: 'gatehouse', claims: standardClaims, domains: [] }
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    appleKey = publicKey
    const key = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')
    const claims = { email: 'mail', emailVerified: 'mail_ok', name: 'nick' }
    const secrets = `acme=a other=b thin=d apple=TEAM123456:KEY1234567:${key}`
    return await startService({
      environment: { IDENTITY_PROVIDER_SECRETS: secrets },
      policy: policyWith({
        signIn: {
          identityProviders: [
            { ...row, id: 'acme', name: 'Acme', issuer: ISSUER },
            { ...row, id: 'other', name: 'Other', issuer: 'https://other.example', claims },
            { ...row, id: 'thin', name: 'Thin', issuer: 'https://thin.example' },
            { ...row, id: 'apple', name: 'Apple', issuer: 'https://appleid.apple.com' },
          ],
        },
      }),
      fetch: async (...request) => await network.fetch(...request),
    })
  })

  const signIn = async (said: Lie = {}, { provider = 'acme', ...how }: Partial<Returning> = {}) => {
    const iss = provider === 'acme' ? ISSUER : `https://${provider}.example`
    return await signInWith(network, service(), { provider, iss, said, ...how })
  }
  const ofSam = { email: sam.login, sub: 'sam' }
  const link = async (subject: string, person_id: string) =>
    await linkIdentity(service(), { provider_id: 'acme', issuer: ISSUER, subject, person_id })

  afterEach(async () => {
    network.says({})
    await service().kysely.deleteFrom('linked_identity').execute()
    await service().kysely.deleteFrom('totp').execute()
  })

  // [330]
  it('gets a request with PKCE, state, nonce and its own redirect URI, unless the provider is unknown', async () => {
    const login_hint = sam.login
    const { person, page, left, asked } = await leave(service(), 'acme', { login_hint })
    const unknown = new URL(`${page.url.pathname}/provider/unknown`, page.url)
    expect((await follow(person, unknown)).status).to.equal(404)
    expect(`${left.target?.origin}${left.target?.pathname}`).to.equal(`${ISSUER}/authorize`)
    expect(asked.get('redirect_uri')).to.equal(`${service().url}/sign-in/callback/acme`)
    expect(asked.get('code_challenge_method')).to.equal('S256')
    expect(asked.get('login_hint')).to.equal(sam.login)
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(asked.get(name)).to.match(/^[\w.-]{43,}$/)
  })

  const now = Math.floor(Date.now() / 1000)
  const wrong: Record<string, [Lie, Record<string, string | undefined>?]> = {
    'another iss': [{ claims: { iss: 'https://other.example' } }],
    'another aud': [{ claims: { aud: 'another' } }],
    'two audiences without azp': [{ claims: { aud: ['gatehouse', 'another'] } }],
    'another nonce': [{ claims: { nonce: 'another' } }],
    'no nonce': [{ claims: { nonce: undefined } }],
    'a foreign key': [{ foreignKey: true }],
    'a past expiry': [{ claims: { exp: now - 120 } }],
    'a future start': [{ claims: { nbf: now + 3600 } }],
    'no id_token': [{ tokens: { id_token: undefined } }],
    'an unsigned id_token': [{ tokens: { id_token: unsignedJwt({}) } }],
    'a subject with a line break': [{ claims: { sub: 'u1\n' } }],
    'a subject that is too long': [{ claims: { sub: 'u'.repeat(256) } }],
    'a subject that is a number': [{ claims: { sub: 7 } }],
    'another iss beside the code': [{}, { iss: 'https://other.example' }],
    'no iss beside the code': [{}, { iss: undefined }],
    'no code': [{}, { code: undefined }],
  }
  for (const [what, [said, sends]] of Object.entries(wrong)) {
    // [RFC 9207 §2.4; OpenID Connect Core §3.1.3.7; 317, 327]
    it(`refuses a sign-in with ${what}, says so and offers other ways`, async () => {
      await link('u1', 'per_sam')
      const { page, person } = await signIn(said, { sends: sends ?? {} })
      expect(refusalOn(page)).to.include('400 Acme did not prove who you are')
      expect(isSignedIn(page)).to.equal(false)
      expect(isSignedIn(await submit(person, page, sam)), 'the password still works').to.equal(true)
    })
  }

  // [318]
  it('answers 503 with the other sign-in methods while a provider is down, redirects, or never stops sending', async () => {
    const endless = new ReadableStream({ pull: (sink) => sink.enqueue(new Uint8Array(65_536)) })
    for (const fails of [
      async () => await Promise.reject(new Error('no such host')),
      async () => new Response('down', { status: 502 }),
      async () => new Response(endless),
    ]) {
      const { page } = await signIn({ fails })
      expect(refusalOn(page)).to.include('503 Acme cannot be reached at the moment')
    }
    const redirected = async () => Response.redirect(ISSUER, 302)
    expect((await signIn({ fails: redirected })).page.status).to.equal(400)
    expect(service().log.join()).to.not.include('"code":"c"')
  })

  // [320, 322]
  it('neither signs in nor links a person by an unverified address, and does not reveal whether it has an account', async () => {
    const texts = new Set<string>()
    for (const email of [sam.login, 'nobody@northlight.example']) {
      const claims = { sub: 'eve', email, email_verified: false }
      const { page, person } = await signIn({ claims })
      expect(isSignedIn(page)).to.equal(false)
      texts.add(noteOf(page).replaceAll(email, ''))
      await submit(person, page, olivia)
    }
    expect(texts.size).to.equal(1)
    const links = await linksOf(service())
    expect(links, 'the sign-in of another person links nothing').to.deep.equal([])
  })

  // [322]
  it('links nothing if the person signs in to another account, or in another interaction', async () => {
    const { page, person } = await signIn({ claims: ofSam })
    expect(noteOf(page)).to.include(sam.login)
    const elsewhere = await follow(person, authorizeUrl(service().url, { state: 'another' }))
    expect(noteOf(elsewhere)).to.equal('')
    expect(isSignedIn(await submit(person, elsewhere, sam))).to.equal(true)
    expect(await linksOf(service())).to.deep.equal([])
    const second = await signIn({ claims: ofSam })
    await submit(second.person, second.page, olivia)
    expect(await linksOf(service())).to.deep.equal([])
  })

  // [321, 326]
  it('needs the code of an authenticator app in addition, before it signs in or links anything', async () => {
    const codeAt = await setUpApp(service())
    const { page, person } = await signIn({ claims: ofSam })
    expect(isSignedIn(page)).to.equal(false)
    expect(noteOf(page)).to.include(`Acme says that your address is ${sam.login}`)
    const asked = await submit(person, page, sam)
    expect(asked.text).to.include('id="second-step-page"')
    expect(await linksOf(service())).to.deep.equal([])
    expect(isSignedIn(await submit(person, asked, { code: codeAt(0) }))).to.equal(true)
    expect(await linksOf(service())).to.deep.equal([{ subject: 'sam', person_id: 'per_sam' }])
    await mailsWith(service(), 'Acme can now sign you in', sam.login)

    const acrs = async () =>
      (await sessionsIn(service(), { person_id: 'per_sam' })).map(({ acr }) => acr)
    const before = await acrs()
    const again = await signIn({ claims: ofSam })
    expect(again.page.text).to.include('id="second-step-page"')
    expect(isSignedIn(await submit(again.person, again.page, { code: '000000' }))).to.equal(false)
    expect(await acrs()).to.deep.equal(before)
    expect(isSignedIn(await submit(again.person, again.page, { code: codeAt(1) }))).to.equal(true)
    expect((await acrs())[0]).to.equal('urn:gatehouse:mfa')
  })

  // [328]
  it('knows a person by issuer and subject only, whatever the address says', async () => {
    await link('u1', 'per_olivia')
    expect(isSignedIn((await signIn({ claims: { email: sam.login } })).page)).to.equal(true)
    expect((await sessionsIn(service()))[0]?.person_id).to.equal('per_olivia')
    const stranger = await signIn({ claims: { sub: 'u2', email: olivia.login } })
    expect(isSignedIn(stranger.page)).to.equal(false)
  })

  // [323]
  it('cannot send its response to the callback of another provider', async () => {
    await link('u1', 'per_sam')
    const { person, asked } = await leave(service(), 'acme')
    network.hears(asked)
    const query = new URLSearchParams({ iss: ISSUER, code: 'c', state: asked.get('state') ?? '' })
    const page = await follow(person, new URL(`/sign-in/callback/other?${query}`, service().url))
    expect(isSignedIn(page)).to.equal(false)
    expect(page.text).to.include('id="login-page"')
    expect(network.sent.join(' ')).to.not.include('https://other.example/token')
  })

  // [324, 325]
  it('ignores the response in another browser, a second use, and another state', async () => {
    await link('u1', 'per_sam')
    const { person, callback, page } = await signIn()
    expect(isSignedIn(page)).to.equal(true)
    const another = await follow(makeHeadlessPerson(sam), callback)
    expect(another.status, 'another browser').to.equal(400)
    expect(isSignedIn(await follow(person, callback)), 'a second use').to.equal(false)
    for (const state of ['', 'x', 'x.', 'x.../..', `x.${'a'.repeat(65)}`]) {
      const forged = new URL(callback)
      forged.searchParams.set('state', state)
      expect((await follow(person, forged)).status, state).to.equal(400)
    }
    const other = await signIn({}, { sends: { state: callback.searchParams.get('state') ?? '' } })
    expect(isSignedIn(other.page), 'the state of another interaction').to.equal(false)
  })

  // [329]
  it('must authenticate a person again if the request demands it', async () => {
    await link('u1', 'per_sam')
    const withoutOpenid = { scope: 'account:read', max_age: '60' }
    for (const fields of [{ prompt: 'login' }, { max_age: '60' }, withoutOpenid]) {
      for (const claims of [{}, { auth_time: now - 600 }]) {
        const { page } = await signIn({ claims }, { fields })
        expect(page.status).to.equal(400)
        expect(isSignedIn(page)).to.equal(false)
      }
      const fresh = { auth_time: Math.floor(Date.now() / 1000) }
      expect(isSignedIn((await signIn({ claims: fresh }, { fields })).page)).to.equal(true)
    }
  })

  // [372]
  it('describes people by the configured claims only', async () => {
    const standard = { email: sam.login, email_verified: true }
    const silent = await signIn({ claims: standard }, { provider: 'other' })
    expect(problemOf(silent.page)).to.include('Other did not send your e-mail address')
    const unsure = { ...standard, mail: 'odd@acme.example' }
    const asked = await signIn({ claims: unsure }, { provider: 'other' })
    expect(noteOf(asked.page)).to.include('odd@acme.example')
    const known = await signIn({ claims: { ...unsure, mail_ok: '1' } }, { provider: 'other' })
    expect(problemOf(known.page)).to.include('There is no account for odd@acme.example')
  })

  // [OpenID Connect Core §5.3.2; OpenID Connect Core §5.4; 381]
  it('reads the address from UserInfo, of the same person only, if the id_token has none', async () => {
    const metadata = { userinfo_endpoint: 'https://thin.example/userinfo' }
    const claims = { email: undefined, email_verified: undefined }
    const signedIn = async (userinfo: Record<string, unknown>) =>
      (await signIn({ claims, userinfo, metadata }, { provider: 'thin' })).page
    const email = 'far@acme.example'
    expect(noteOf(await signedIn({ sub: 'u1', email }))).to.include(email)
    for (const sub of ['u2', undefined]) {
      expect(refusalOn(await signedIn({ sub, email }))).to.equal(
        '400 Thin did not prove who you are, so you are not signed in. Please try again, or sign in another way.',
      )
    }
  })

  // [332]
  it('does not sign in a disabled account, and explains a refusal by the provider', async () => {
    await link('u1', 'per_noor')
    await change(service().kysely, 'person', { id: 'per_noor' }, { disabled_at: 1 })
    const disabled = '403 Your account is disabled. Please ask an operator of your school.'
    expect(refusalOn((await signIn()).page)).to.equal(disabled)
    const denied = await signIn({}, { sends: { code: undefined, error: 'access_denied' } })
    const refused = '403 Acme did not sign you in. Please try again, or sign in another way.'
    expect(refusalOn(denied.page)).to.equal(refused)
  })

  // [331]
  it('creates an account only for a verified address, at a site with self sign-up, with a harmless name', async () => {
    const claims = { sub: 'new', email: 'new@acme.example', name: '<b>Ada\u202e\n</b>' }
    const refused = await signIn({ claims })
    expect(refusalOn(refused.page)).to.include('403 There is no account for new@acme.example')
    const nameless = await signIn({ claims: { ...claims, email: 'x y@acme.example' } })
    expect(problemOf(nameless.page)).to.include('Acme did not send your e-mail address')
    const feature = { site_id: 'sit_northlight', feature: SELF_SIGN_UP, enabled_at: 1 }
    await insert(service().kysely, 'site_feature', feature)
    const marked = { sub: 'marked', email: 'marked@acme.example', name: '<b>Ada</b>' }
    for (const [said, expected] of [
      [claims, 'new'],
      [marked, '<b>Ada</b>'],
    ] as const) {
      const { email } = said
      expect(isSignedIn((await signIn({ claims: said })).page)).to.equal(true)
      const { id, name, password_hash } = await rowOf(service().kysely, 'person', { email })
      expect([name, password_hash]).to.deep.equal([expected, null])
      const roles = await rowsOf(service().kysely, 'site_role', { person_id: id })
      const held = roles.map(({ role, site_id }) => [role, site_id])
      expect(held).to.deep.equal([['student', 'sit_northlight']])
    }
    expect(isSignedIn((await signIn({ claims })).page), 'the next time').to.equal(true)
  })

  // [380]
  it('may send a form and require a signed client secret, like Apple', async () => {
    const metadata = {
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      authorization_response_iss_parameter_supported: false,
    }
    network.says({ metadata })
    const { person, asked } = await leave(service(), 'apple')
    expect(asked.get('response_mode')).to.equal('form_post')
    network.hears(asked)
    network.says({ metadata, claims: { sub: 'apple', email: sam.login, email_verified: 'true' } })
    const callback = new URL('/sign-in/callback/apple', service().url)
    const body = new URLSearchParams({ code: 'c', state: asked.get('state') ?? '', user: '{}' })
    const page = await follow(person, callback, { method: 'POST', body })
    expect(noteOf(page)).to.include('Apple says that your address is')
    const secret = network.forms.at(-1)?.get('client_secret') ?? ''
    const { payload, protectedHeader } = await jwtVerify(secret, appleKey, {
      ...{ issuer: 'TEAM123456', subject: 'gatehouse', audience: 'https://appleid.apple.com' },
    })
    expect(protectedHeader).to.deep.equal({ alg: 'ES256', kid: 'KEY1234567' })
    expect(Number(payload.exp) - Number(payload.iat)).to.equal(300)
    const forged = new URLSearchParams({ code: 'c', state: 'x.../..' })
    expect((await follow(person, callback, { method: 'POST', body: forged })).status).to.equal(400)
    const stranger = await follow(makeHeadlessPerson(sam), callback, { method: 'POST', body })
    expect(stranger.status, 'login CSRF').to.equal(400)
  })
})
