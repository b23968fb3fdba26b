import { setTimeout as delay } from 'node:timers/promises'

import { endEverything } from '../src/oauth/grants/end-grants.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { sha256 } from '../src/platform/store/digest.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asPortal,
  asResourceServer,
  authorize,
  authorizeUrl,
  codeBy,
  codeVerifier,
  exchange,
  getCode,
  introspect,
  obtain,
  obtainCode,
  openAuthorization,
  redeem,
  refresh,
  revoke,
  type Tokens,
  userinfo,
} from './support/client.ts'
import { editList, rowOf, rowsOf } from './support/database.ts'
import { bindTo } from './support/families.ts'
import { notes, portal, sam, startService, startWith } from './support/gatehouse.ts'
import { later } from './support/later.ts'
import { makePagePerson } from './support/page-person.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { basic, bearer, type Fields, postForm, preflight, refusalOf, send } from './support/wire.ts'

const DAY_MS = 86_400_000
const lifetimeOf = (of?: { exp?: unknown; iat?: unknown }) => Number(of?.exp) - Number(of?.iat)

describe('POST /api/oauth/token', () => {
  const service = sharedService({ now: () => Date.now() })
  const token = async (fields: Fields, headers: readonly string[] = []) =>
    await postForm(service().url + paths.token, fields, headers)
  const client_id = notes.clientId
  const byRefresh = { grant_type: 'refresh_token', client_id }
  const byCode = {
    grant_type: 'authorization_code',
    code: 'no-such-code',
    redirect_uri: notes.redirectUri,
    code_verifier: codeVerifier,
    client_id,
  }
  const byResourceServer = { ...byCode, ...asResourceServer }
  const withoutClient = { ...byCode, client_id: undefined }

  for (const [title, expected, fields] of [
    ['no client', '400 invalid_request', withoutClient],
    ['an unknown client', '401 invalid_client', { ...byCode, client_id: 'nobody' }],
    ['no code', '400 invalid_request', { ...byCode, code: undefined }],
    ['no grant_type', '400 invalid_request', { ...byCode, grant_type: undefined }],
    ['no parameters', '400 invalid_request', {}],
    ['no refresh token', '400 invalid_request', byRefresh],
    ['a grant type that is not the client’s', '400 unauthorized_client', byResourceServer],
  ] as const) {
    // [RFC 6749 §5.2; OpenID Connect Core §3.1.3.4; Client registration record 4; Errors 1; Not shown 11]
    it(`refuses ${title} with ${expected}`, async () => {
      const answer = await token(fields)
      expect(refusalOf(answer)).to.equal(expected)
      expect(answer.body).to.have.property('error_description').that.is.a('string').and.not.empty
      expect(answer.headers.get('cache-control')).to.equal('no-store')
      expect(answer.headers.get('content-type')).to.match(/^application\/json/)
    })
  }

  // [RFC 6749 §5.1; RFC 6749 §4.1.4; OpenID Connect Core §3.1.3.3; RFC 6749 §3.3; RFC 6749 §10.3]
  // [Token response 1; Not shown 5]
  it('returns opaque bearer tokens, their lifetime and every granted scope [design 4, 12]', async () => {
    const { status, headers, body } = await exchange(service().url, await getCode(service().url))
    expect([status, headers.get('cache-control')]).to.deep.equal([200, 'no-store'])
    const { access_token, refresh_token, id_token, ...others } = body
    expect(others).to.deep.equal({ expires_in: 3600, scope: MEMBER_SCOPE, token_type: 'Bearer' })
    expect(id_token).to.be.a('string')
    // The parts are the family, generation, time of issue, scopes (empty for all) and MAC, and nothing about the person.
    expect(access_token).to.match(/^[\w-]{43}\.0\.[\da-z]+\.\.[\w-]{43}$/)
    expect(refresh_token).to.match(/^[\w-]{43}\.0\.[\w-]{43}$/)
  })

  // [RFC 6749 §2.3.1; OpenID Connect Core §9]
  it('accepts HTTP Basic of a confidential client [design 20], and challenges only a client that tried it [RFC 6749 §5.2]', async () => {
    const { redirect_uri, client_secret } = asPortal
    const code = await getCode(service().url, asPortal)
    const request = { ...withoutClient, redirect_uri, code, resource: service().url }
    expect((await token(request, basic(portal.clientId, client_secret))).status).to.equal(200)
    const tried = await token(withoutClient, basic(portal.clientId, 'x'))
    expect(tried.headers.get('www-authenticate')).to.match(/^Basic realm=/)
    const posted = await token({ ...byCode, ...asPortal, client_secret: 'x' })
    expect(posted.headers.get('www-authenticate')).to.equal(null)
  })

  // [RFC 6749 §6; RFC 9700 §4.14.2; OpenID Connect Core §12.2; Not shown 5; Token 3]
  // [RFC 9700 §2.2.2; Token response 2; 67, 73]
  it('refreshes for fewer scopes and for all again, never for more, without an id_token, and repeatedly [design 10]', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    const scope = 'account:read offline_access'
    const { body } = await refresh(url, tokens.refresh_token, { scope })
    expect(body.scope).to.equal('account:read')
    const repeated = await refresh(url, tokens.refresh_token, { scope })
    expect(repeated.body, 'repeated').to.deep.equal(body)
    expect((await introspect(url, body.access_token)).body).to.include({ scope: 'account:read' })
    expect((await userinfo(url, body.access_token)).status).to.equal(403)
    for (const scope of ['account:write', `${MEMBER_SCOPE} account:write`, 'courses:read', 'x']) {
      const answer = await refresh(url, body.refresh_token, { scope })
      expect(refusalOf(answer), scope).to.equal('400 invalid_scope')
    }
    const full = (await refresh(url, body.refresh_token)).body
    expect(full).to.include({ scope: MEMBER_SCOPE, expires_in: 3600 })
    expect(full).to.not.have.property('id_token')
    expect(full.refresh_token).to.be.a('string').and.not.equal(body.refresh_token)
    expect((await userinfo(url, full.access_token)).body.sub).to.equal('per_sam')
  })

  // [RFC 6749 §4.1.2; RFC 6750 §5.3; MCP Authorization §Token Theft; Limits 1; Not shown 13]
  it('keeps the lifetimes of design 9', async () => {
    const { url, kysely, service: running } = service()
    const code = await getCode(url)
    const ofToken = async (token: string) => lifetimeOf((await introspect(url, token)).body)
    const lifetime = async (model: string, id: string) =>
      lifetimeOf(await running.stores.state.adapterFor(model).find(id))
    expect(await lifetime('AuthorizationCode', code)).to.equal(60)
    const tokens = (await exchange(url, code)).body as Tokens
    expect(await ofToken(tokens.access_token)).to.equal(3600)
    expect(await ofToken(tokens.refresh_token)).to.equal(30 * 86_400)
    const { grant_id: id } = await rowOf(kysely, 'refresh_token_family', { id: sha256(code) })
    const grant = await rowOf(kysely, 'oauth_grant', { id })
    expect((grant.expires_at - grant.granted_at) / 1000).to.be.greaterThan(90 * 86_400)

    const person = makeHeadlessPerson(sam)
    await person.authorize(authorizeUrl(url), notes.redirectUri)
    const asked = await person.open(authorizeUrl(url, { prompt: 'consent' }))
    const [, uid = ''] = /^\/interaction\/([^/]+)/.exec(asked.headers.get('location') ?? '') ?? []
    // The engine reads the clock separately for `iat` and `exp` here, so the clock may tick between the two.
    expect(await lifetime('Interaction', uid)).to.be.closeTo(3600, 1)
    const cookies = asked.headers.getSetCookie().join(', ')
    const [, session = ''] = /(?:^|, )gatehouse=([^;]+)/.exec(cookies) ?? []
    expect(await lifetime('Session', session)).to.be.closeTo(14 * 86_400, 1)
  })

  // [RFC 9700 §4.14.2; Not shown 13]
  it('refuses a refresh token of another origin [Errors 6], and of a family after 90 days [design 9]', async () => {
    const { url } = service()
    const foreign = await obtain(url)
    await bindTo('https://elsewhere.example', foreign.refresh_token, service())
    expect(refusalOf(await refresh(url, foreign.refresh_token))).to.equal('400 invalid_grant')
    let { refresh_token: current } = await obtain(url)
    for (const days of [29, 58, 87])
      current = (await later(days * DAY_MS, () => refresh(url, current))).body.refresh_token
    const { body } = await later(87 * DAY_MS, () => introspect(url, current))
    expect(lifetimeOf(body)).to.be.closeTo(3 * 86_400, 5)
    const late = await later(90 * DAY_MS, () => refresh(url, current))
    expect(refusalOf(late)).to.equal('400 invalid_grant')
  })

  it('keeps a grant alive as long as the refresh tokens of a second consent [design 9]', async () => {
    // With these lifetimes, a grant lives 14 days from its last authorization; the engine would count from the first.
    const lifetimes = { refreshTokenSeconds: 12 * 86_400, refreshTokenAbsoluteSeconds: 12 * 86_400 }
    await using short = await startWith({ lifetimes }, { now: () => Date.now() })
    const { person } = await obtainCode(short.url)
    const again = await later(10 * DAY_MS, async () => {
      const { form } = await codeBy(person, short.url, { prompt: 'consent' })
      return await redeem(short.url, { form })
    })
    const answer = await later(15 * DAY_MS, () => refresh(short.url, again.body.refresh_token))
    expect(answer.status, answer.text).to.equal(200)
  })

  // [What the service does 10]
  it('withdraws a scope that the operator took from the client [design 2]', async () => {
    await using own = await startService()
    const { url } = own
    const scope = 'openid account:read account:write'
    const tokens = await obtain(url, { authorization: { scope } })
    const narrow = await obtain(url, { authorization: { scope: 'account:write' } })
    const withdraw = (scopes: string[]) => scopes.filter((each) => each !== 'account:write')
    await editList(own.kysely, client_id, 'scopes', withdraw)
    expect((await authorize(url, { scope })).get('error')).to.equal('invalid_scope')
    const asked = await refresh(url, tokens.refresh_token, { scope })
    expect(refusalOf(asked)).to.equal('400 invalid_scope')
    const next = (await refresh(url, tokens.refresh_token)).body as Tokens
    expect(next.scope).to.equal('openid account:read')
    expect((await introspect(url, next.access_token)).body).to.include({ scope: next.scope })
    expect(refusalOf(await refresh(url, narrow.refresh_token))).to.equal('400 invalid_grant')
  })

  describe('and pages of other origins [design 28] [75]', () => {
    const origin = 'https://spa.example'
    const asPage = ['Origin', origin]

    // [OpenID Connect Discovery §3; RFC 7009 §2.3; OpenID Connect Core §5.3]
    it('answers public clients at every endpoint, without credentials, but not confidential clients, whose secrets would leak', async () => {
      const { url } = service()
      const exchanged = await token({ ...byCode, code: await getCode(url), resource: url }, asPage)
      const { access_token } = exchanged.body
      const userinfoAt = async (value: string) =>
        await send(url, { path: paths.userinfo, headers: [...asPage, ...bearer(value)] })
      const invalid = await userinfoAt('nonsense')
      for (const [answer, status] of [
        [exchanged, 200],
        [await token(byRefresh, asPage), 400],
        [await token({ ...byRefresh, client_id: 'nobody' }, asPage), 401],
        [await userinfoAt(access_token), 200],
        [invalid, 401],
        [await postForm(url + paths.revocation, { token: access_token, client_id }, asPage), 200],
      ] as const) {
        expect(answer.status).to.equal(status)
        expectOpen(answer)
      }
      expect(invalid.headers.get('access-control-expose-headers')).to.match(/www-authenticate/i)
      const refused = await token({ ...byRefresh, refresh_token: 'x', ...asPortal }, asPage)
      expect(refused.status).to.equal(400)
      expect(refused.headers.get('access-control-allow-origin')).to.equal(null)
    })

    for (const path of [paths.token, paths.revocation, paths.introspection, paths.registration]) {
      it(`answers the preflight of ${path}`, async () => {
        const names = 'authorization, content-type'
        const answer = await preflight(service().url + path, 'POST', { origin, names })
        expect(answer.status).to.equal(204)
        const allowed = answer.headers.get('access-control-allow-headers')
        expect(allowed).to.match(/authorization.*content-type/i)
        expect(answer.headers.get('access-control-allow-methods')).to.equal('POST')
        expectOpen(answer)
      })
    }

    function expectOpen({ headers }: Pick<Response, 'headers'>): void {
      expect(headers.get('access-control-allow-origin')).to.be.oneOf(['*', origin])
      expect(headers.get('access-control-allow-credentials')).to.equal(null)
    }
  })
})

describe('POST /api/oauth/revoke', () => {
  const service = sharedService()

  // [RFC 7009 §5; RFC 7009 §2.1; RFC 7009 §2.2; Not shown 6; class token handling]
  it('answers alike for live, revoked, foreign and unknown tokens, and does not end foreign ones [design 14]', async () => {
    const { url } = service()
    const { access_token: live, id_token = '' } = await obtain(url)
    const foreign = await obtain(url, { authorization: asPortal, token: asPortal })
    for (const token of [live, live, foreign.access_token, 'nonsense', id_token]) {
      const { status, headers, body } = await revoke(url, token)
      expect([status, body]).to.deep.equal([200, {}])
      expect(headers.get('content-type')).to.match(/^application\/json/)
    }
    expect((await userinfo(url, foreign.access_token)).status).to.equal(200)
  })

  for (const [what, which, kind, token_type_hint] of [
    ['an access token', 'first', 'access_token'],
    ['an access token with the hint refresh_token', 'first', 'access_token', 'refresh_token'],
    ['an access token with an unknown hint', 'first', 'access_token', 'nonsense'],
    ['a refresh token', 'next', 'refresh_token'],
    ['a replaced refresh token', 'first', 'refresh_token'],
  ] as const) {
    // [RFC 7009 §2; RFC 7009 §2.1; Revocation 2; 85]
    it(`ends with ${what} every token of the grant (CVE-2018-1000211)`, async () => {
      const { url } = service()
      const first = await obtain(url)
      const next: Tokens = (await refresh(url, first.refresh_token)).body
      const revoked = await revoke(url, { first, next }[which][kind], { token_type_hint })
      expect(revoked.status).to.equal(200)
      for (const token of [first.access_token, next.access_token]) {
        expect(refusalOf(await userinfo(url, token))).to.equal('401 invalid_token')
        expect((await introspect(url, token)).body).to.deep.equal({ active: false })
      }
      for (const token of [first.refresh_token, next.refresh_token])
        expect(refusalOf(await refresh(url, token))).to.equal('400 invalid_grant')
    })
  }

  // [RFC 7009 §2.2.1; Revocation 1]
  it('requires a token, and the secret of a confidential client [RFC 7009 §2.1] [83]', async () => {
    const { url } = service()
    const none = await postForm(url + paths.revocation, { client_id: notes.clientId })
    expect(refusalOf(none)).to.equal('400 invalid_request')
    const { access_token } = await obtain(url, { authorization: asPortal, token: asPortal })
    const bare = await revoke(url, access_token, { client_id: portal.clientId })
    expect(refusalOf(bare)).to.equal('401 invalid_client')
    expect((await userinfo(url, access_token)).status).to.equal(200)
    expect((await revoke(url, access_token, asPortal)).status).to.equal(200)
    expect((await userinfo(url, access_token)).status).to.equal(401)
  })
})

forEachStorage('a database in which everything ended', (start) => {
  it('refuses earlier grants, tokens, codes and sessions, but not new ones [191]', async () => {
    await using service = await start()
    const { url } = service
    const { database } = service.service.stores
    const before = await obtain(url)
    const { code, person } = await obtainCode(url)
    const pagePerson = makePagePerson(url, sam)
    await pagePerson.visit(pages.account)
    const consent = await openAuthorization(person, url, { prompt: 'consent' })

    expect((await endEverything(database, service.service.now())).grants).to.be.at.least(1)
    // A second call finds nothing to end.
    expect(await endEverything(database, service.service.now())).to.include({ grants: 0 })

    expect((await userinfo(url, before.access_token)).status).to.equal(401)
    expect((await introspect(url, before.access_token)).body).to.deep.equal({ active: false })
    expect((await refresh(url, before.refresh_token)).body.error).to.equal('invalid_grant')
    expect((await exchange(url, code)).body.error).to.equal('invalid_grant')
    // The browser's session has ended, and so has its open consent page.
    expect((await openAuthorization(person, url)).pathname).to.match(/\/login$/)
    const open = await person.open(consent)
    expect(open.status === 200 && (await open.text()).includes('per_sam')).to.equal(false)
    expect((await pagePerson.open(pages.account)).status).to.equal(303)

    const events = await rowsOf(database.kysely, 'audit_event', { action: 'grants.end_everything' })
    expect(events).to.have.length(2)
    // Session times are whole seconds. A session from the same second as `endEverything` still counts as earlier.
    await delay(1000 - (Date.now() % 1000))
    const after = await obtain(url)
    expect((await userinfo(url, after.access_token)).status).to.equal(200)
    expect((await refresh(url, after.refresh_token)).status).to.equal(200)
  })
})
