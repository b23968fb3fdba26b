import { expect } from 'chai'
import { decodeJwt } from 'jose'

import { paths } from '../src/platform/http/paths.ts'
import { sha256 } from '../src/platform/store/digest.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asClaude,
  asPortal,
  authorize,
  authorizeUrl,
  codeVerifier,
  exchange,
  getCode,
  introspect,
  obtain,
  refresh,
  revoke,
  type Tokens,
  userinfo,
} from './support/client.ts'
import { bindTo } from './support/families.ts'
import { notes, olivia, portal, sam, startService } from './support/gatehouse.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { type Answer, type Fields, postForm, refusalOf } from './support/wire.ts'

const operator = { ...asClaude, scope: 'openid profile courses:read courses:write' }

describe('POST /api/oauth/token', () => {
  const service = sharedService()
  const token = async (fields: Fields, headers?: Record<string, string>) =>
    await postForm(service().url + paths.token, fields, headers)

  // [OpenID Connect Core §3.1.3.4; Client registration record 4; Errors 1; Not shown 11]
  describe('answers a refusal with its status and error code [RFC 6749 §5.2]', () => {
    const basic = (secret: string) => ({
      authorization: `Basic ${Buffer.from(`${portal.clientId}:${secret}`).toString('base64')}`,
    })
    const byCode = {
      grant_type: 'authorization_code',
      code: 'no-such-code',
      redirect_uri: notes.redirectUri,
      code_verifier: codeVerifier,
      client_id: notes.clientId,
    }
    const refusals: readonly (readonly [
      title: string,
      fields: Fields,
      expected: string,
      headers?: Record<string, string>,
    ])[] = [
      ['no client at all', { ...byCode, client_id: undefined }, '400 invalid_request'],
      ['an unknown client', { ...byCode, client_id: 'nobody' }, '401 invalid_client'],
      [
        'a wrong secret by HTTP Basic',
        { ...byCode, client_id: undefined },
        '401 invalid_client',
        basic('x'),
      ],
      ['an unknown code', byCode, '400 invalid_grant'],
      ['no code', { ...byCode, code: undefined }, '400 invalid_request'],
      ['no redirect_uri', { ...byCode, redirect_uri: undefined }, '400 invalid_request'],
      ['no grant_type', { ...byCode, grant_type: undefined }, '400 invalid_request'],
      ['nothing', {}, '400 invalid_request'],
      [
        'no refresh token',
        { grant_type: 'refresh_token', client_id: notes.clientId },
        '400 invalid_request',
      ],
      [
        'an unknown refresh token',
        { grant_type: 'refresh_token', refresh_token: 'x', client_id: notes.clientId },
        '400 invalid_grant',
      ],
      [
        'two refresh tokens',
        { grant_type: 'refresh_token', refresh_token: ['x', 'y'], client_id: notes.clientId },
        '400 invalid_request',
      ],
    ]
    for (const [title, fields, expected, headers] of refusals) {
      it(`${title}: ${expected}`, async () => {
        const answer = await token(fields, headers)
        expect(refusalOf(answer)).to.equal(expected)
        expect(answer.body).to.have.property('error_description').that.is.a('string').and.not.empty
        expect(answer.headers.get('cache-control')).to.equal('no-store')
        expect(answer.headers.get('content-type')).to.match(/^application\/json/)
      })
    }

    // [RFC 6749 §5.2]
    it('challenges for HTTP Basic only a client that tried it', async () => {
      const tried = await token({ ...byCode, client_id: undefined }, basic('x'))
      expect(tried.headers.get('www-authenticate')).to.match(/^Basic realm=/)
      const posted = await token({ ...byCode, ...asPortal, client_secret: 'x' })
      expect(posted.headers.get('www-authenticate')).to.equal(null)
    })

    for (const accept of ['text/html', 'text/html,application/json;q=0.9', '*/*']) {
      it(`stays JSON for Accept: ${accept}`, async () => {
        const answer = await token({ ...byCode, client_id: 'nobody' }, { accept })
        expect(refusalOf(answer)).to.equal('401 invalid_client')
      })
    }

    it('says of a body that is too large that it is, as JSON', async () => {
      const answer = await token({ ...byCode, code: 'x'.repeat(100_000) })
      expect(answer.status).to.be.within(400, 413)
      expect(answer.body).to.have.property('error', 'invalid_request')
    })
  })

  // [RFC 6749 §5.1; RFC 6749 §4.1.4; OpenID Connect Core §3.1.3.3; RFC 6749 §3.3]
  // [Token response 1; Not shown 5]
  it('gives a bearer token, its lifetime and all that was granted [design 4]', async () => {
    const { url } = service()
    const answer = await exchange(url, await getCode(url))
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(answer.body).to.have.all.keys(
      ...['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'],
    )
    expect(answer.body).to.include({ expires_in: 3600, scope: MEMBER_SCOPE, token_type: 'Bearer' })
  })

  // [Token response 3]
  it('gives no id_token without openid (Authentication 7)', async () => {
    const tokens = await obtain(service().url, { authorization: { scope: 'account:read' } })
    expect(tokens).not.to.have.property('id_token')
    expect(tokens.scope).to.equal('account:read')
  })

  // [RFC 6749 §10.3]
  it('gives opaque access tokens [design 12]', async () => {
    const tokens = await obtain(service().url)
    // The family, which and when, and what authenticates it: nothing of the person or the grant.
    expect(tokens.access_token).to.match(/^[\w-]{43}\.0\.[\da-z]+\.\.[\w-]{43}$/)
    expect(tokens.refresh_token).to.match(/^[\w-]{43}\.0\.[\w-]{43}$/)
  })

  // [RFC 6749 §2.3.1; OpenID Connect Core §9]
  it('accepts HTTP Basic of a confidential client [design 20]', async () => {
    const { url } = service()
    const code = await getCode(url, asPortal)
    const secret = Buffer.from(`${portal.clientId}:${portal.clientSecret}`).toString('base64')
    const answer = await token(
      {
        grant_type: 'authorization_code',
        code,
        redirect_uri: portal.redirectUri,
        code_verifier: codeVerifier,
        resource: url,
      },
      { authorization: `Basic ${secret}` },
    )
    expect(answer.status).to.equal(200)
  })

  it('lets a library probe with HTTP Basic first, which uses no code up', async () => {
    const { url } = service()
    const code = await getCode(url)
    const probe = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: notes.redirectUri,
      code_verifier: codeVerifier,
      resource: url,
    }
    const tried = await token(probe, { authorization: `Basic ${btoa(`${notes.clientId}:`)}` })
    expect(tried.status).to.be.within(400, 401)
    expect((await token({ ...probe, client_id: notes.clientId })).status).to.equal(200)
  })

  it('answers GET with 405, and one spelling of its address only', async () => {
    const { url } = service()
    expect((await fetch(url + paths.token)).status).to.equal(405)
    for (const path of ['/API/OAuth/Token', `${paths.token}/`]) {
      expect((await postForm(url + path, {})).status).to.equal(404)
    }
  })

  // [RFC 8707 §2.2; Authorization 5.3; Token 2.2; Authentication 5.2]
  describe('does not use a code up for a wrong resource [design 3]', () => {
    for (const [title, resource] of [
      ['none', undefined],
      ['a foreign one', 'https://elsewhere.example'],
      ['an empty one', ''],
    ] as const) {
      it(`${title}: invalid_target, and the right request succeeds afterwards`, async () => {
        const { url } = service()
        const code = await getCode(url)
        expect(refusalOf(await exchange(url, code, { resource }))).to.equal('400 invalid_target')
        const answer = await exchange(url, code)
        expect(answer.status).to.equal(200)
        const { access_token } = answer.body as Tokens
        expect((await introspect(url, access_token)).body).to.include({ aud: url })
      })
    }

    // [RFC 8707 §2.2]
    it('one that was not part of the authorization', async () => {
      const { url } = service()
      const fields = { ...operator, scope: 'openid profile', resource: undefined }
      const code = await getCode(url, fields, olivia)
      const { client_id, redirect_uri } = operator
      const bound = await exchange(url, code, { client_id, redirect_uri })
      expect(refusalOf(bound)).to.equal('400 invalid_target')
      const plain = await exchange(url, code, { client_id, redirect_uri, resource: undefined })
      expect(plain.status).to.equal(200)
    })
  })

  // [RFC 6749 §10.5]
  describe('exchanges a code once [design 11]', () => {
    // [RFC 6749 §10.5]
    it('and another client cannot end a grant with a code that it saw', async () => {
      const { url } = service()
      const code = await getCode(url)
      const tokens = (await exchange(url, code)).body as Tokens
      expect(refusalOf(await exchange(url, code, asPortal))).to.equal('400 invalid_grant')
      expect((await userinfo(url, tokens.access_token)).status).to.equal(200)
    })
  })

  describe('refreshes', () => {
    // [RFC 6749 §6; Not shown 5]
    it('to fewer scopes, and to all of them again', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      const fewer = (await refresh(url, tokens.refresh_token, { scope: 'account:read' }))
        .body as Tokens
      expect(fewer.scope).to.equal('account:read')
      expect((await introspect(url, fewer.access_token)).body).to.include({ scope: 'account:read' })
      expect((await userinfo(url, fewer.access_token)).status).to.equal(403)
      const full = (await refresh(url, fewer.refresh_token)).body as Tokens
      expect(full.scope).to.equal(MEMBER_SCOPE)
    })

    // [RFC 6749 §6; RFC 9700 §4.14.2]
    it('never to more: invalid_scope, and the token is still good', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      for (const scope of [
        ...['account:write', `${MEMBER_SCOPE} account:write`, 'courses:read', 'x'],
        ...['openid courses:read', 'admin'],
      ]) {
        const answer = await refresh(url, tokens.refresh_token, { scope })
        expect(refusalOf(answer)).to.equal('400 invalid_scope')
      }
      expect((await refresh(url, tokens.refresh_token)).status).to.equal(200)
    })

    it('gives a retry the same answer again [design 10]', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      const first = await refresh(url, tokens.refresh_token)
      const second = await refresh(url, tokens.refresh_token)
      expect(first.status).to.equal(200)
      expect(second.body).to.deep.equal(first.body)
      expect((await userinfo(url, (second.body as Tokens).access_token)).status).to.equal(200)
    })

    // [RFC 6749 §3.2.1; OpenID Connect Core §12.1]
    it('for a confidential client that authenticates, and not without its secret', async () => {
      const { url } = service()
      const tokens = await obtain(url, { authorization: asPortal, token: asPortal })
      const { client_id } = asPortal
      const bare = await refresh(url, tokens.refresh_token, { client_id })
      expect(refusalOf(bare)).to.equal('401 invalid_client')
      expect((await refresh(url, tokens.refresh_token, asPortal)).status).to.equal(200)
    })

    it('with any spelling of the resource; a foreign one burns nothing [design 3]', async () => {
      const { url } = service()
      let { refresh_token: current } = await obtain(url)
      const foreign = await refresh(url, current, { resource: 'https://elsewhere.example' })
      expect(refusalOf(foreign)).to.equal('400 invalid_target')
      for (const resource of [url, `${url}/`, `${url}/mcp`, [url, `${url}/member/graphql`]]) {
        const answer = await refresh(url, current, { resource })
        expect(answer.status).to.equal(200)
        const next = answer.body as Tokens
        expect((await introspect(url, next.access_token)).body).to.include({ aud: url })
        current = next.refresh_token
      }
    })
  })

  // [RFC 6749 §4.1.2; RFC 6750 §5.3; MCP Authorization §Token Theft; Limits 1; Not shown 13]
  it('keeps the lifetimes of design 9', async () => {
    const { url, service: running } = service()
    const { state } = running.stores
    const code = await getCode(url)
    const ofToken = async (token: string) => {
      const { exp, iat } = (await introspect(url, token)).body
      return Number(exp) - Number(iat)
    }
    const lifetime = async (model: string, id: string) => {
      const found = await state.adapterFor(model).find(id)
      return Number(found?.exp) - Number(found?.iat)
    }
    expect(await lifetime('AuthorizationCode', code)).to.equal(60)
    const tokens = (await exchange(url, code)).body as Tokens
    expect(await ofToken(tokens.access_token)).to.equal(3600)
    expect(await ofToken(tokens.refresh_token)).to.equal(30 * 86_400)
    const grant = await running.stores.database.kysely
      .selectFrom('oauth_grant')
      .innerJoin('refresh_token_family as f', 'f.grant_id', 'oauth_grant.id')
      .select(['granted_at', 'expires_at'])
      .where('f.id', '=', sha256(code))
      .executeTakeFirstOrThrow()
    expect((grant.expires_at - grant.granted_at) / 1000).to.be.greaterThan(90 * 86_400)

    const person = makeHeadlessPerson(sam)
    await person.authorize(authorizeUrl(url), notes.redirectUri)
    const asked = await person.open(authorizeUrl(url, { prompt: 'consent' }))
    const [, uid = ''] = /^\/interaction\/([^/]+)/.exec(asked.headers.get('location') ?? '') ?? []
    // The engine reads the clock once for each end of these two, between which a second may begin.
    expect(await lifetime('Interaction', uid)).to.be.closeTo(3600, 1)
    const [, session = ''] = /(?:^|, )gatehouse=([^;]+)/.exec(
      asked.headers.getSetCookie().join(', '),
    ) ?? ['', '']
    expect(await lifetime('Session', session)).to.be.closeTo(14 * 86_400, 1)
  })

  for (const path of ['/agent/auth', '/agent/identity']) {
    // [RFC 9126 §5; What the service does 16]
    it(`has no ${path} [design 25]`, async () => {
      for (const method of ['GET', 'POST']) {
        expect((await fetch(service().url + path, { method })).status).to.equal(404)
      }
    })
  }

  describe('lets browser applications in [design 28]', () => {
    const origin = 'https://spa.example'

    // [OpenID Connect Discovery §3]
    it('answers a public client from any origin, without credentials', async () => {
      const { url } = service()
      const answer = await token(
        {
          grant_type: 'authorization_code',
          code: await getCode(url),
          redirect_uri: notes.redirectUri,
          client_id: notes.clientId,
          code_verifier: codeVerifier,
          resource: url,
        },
        { origin },
      )
      expect(answer.status).to.equal(200)
      expectOpen(answer, origin)
    })

    it('lets it read a refusal too', async () => {
      const refused = await token(
        { grant_type: 'refresh_token', client_id: notes.clientId },
        { origin },
      )
      expect(refused.status).to.equal(400)
      expectOpen(refused, origin)
    })

    it('lets it read that its client is unknown', async () => {
      const refused = await token({ grant_type: 'refresh_token', client_id: 'nobody' }, { origin })
      expect(refused.status).to.equal(401)
      expectOpen(refused, origin)
    })

    for (const path of [paths.token, paths.revocation, paths.userinfo]) {
      it(`answers the preflight of ${path}`, async () => {
        const answer = await fetch(service().url + path, {
          method: 'OPTIONS',
          headers: {
            origin,
            'access-control-request-method': path === paths.userinfo ? 'GET' : 'POST',
            'access-control-request-headers': 'authorization, content-type',
          },
        })
        expect(answer.status).to.be.within(200, 204)
        expect(answer.headers.get('access-control-allow-origin')).to.be.oneOf(['*', origin])
        expect(answer.headers.get('access-control-allow-headers')).to.match(/authorization/i)
        expect(answer.headers.get('access-control-allow-credentials')).to.equal(null)
      })
    }

    it('serves no confidential client in a page: its secret would be in every browser', async () => {
      const answer = await token(
        { grant_type: 'refresh_token', refresh_token: 'x', ...asPortal },
        { origin },
      )
      expect(answer.status).to.equal(400)
      expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
    })

    // [RFC 7009 §2.3; OpenID Connect Core §5.3]
    it('opens revocation and UserInfo alike', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      const claims = await fetch(url + paths.userinfo, {
        headers: { origin, authorization: `Bearer ${tokens.access_token}` },
      })
      expect(claims.status).to.equal(200)
      expectOpen(claims, origin)
      const refused = await fetch(url + paths.userinfo, {
        headers: { origin, authorization: 'Bearer nonsense' },
      })
      expect(refused.status).to.equal(401)
      expectOpen(refused, origin)
      expect(refused.headers.get('access-control-expose-headers')).to.match(/www-authenticate/i)
      const revoked = await postForm(
        url + paths.revocation,
        { token: tokens.access_token, client_id: notes.clientId },
        { origin },
      )
      expect(revoked.status).to.equal(200)
      expectOpen(revoked, origin)
    })
  })
})

describe('POST /api/oauth/token, after something changed', () => {
  // [RFC 6749 §10.4; RFC 9700 §2.2.2; RFC 9700 §4.14.2; MCP Authorization §Token Theft]
  it('ends the whole grant for a refresh token that comes back after the retry window [design 10]', async () => {
    let laterMs = 0
    await using service = await startService({ now: () => Date.now() + laterMs })
    const { url } = service
    const tokens = await obtain(url)
    const next = (await refresh(url, tokens.refresh_token)).body as Tokens
    laterMs = 11_000
    const late = await refresh(url, tokens.refresh_token)
    expect(refusalOf(late)).to.equal('400 invalid_grant')
    expect((await userinfo(url, next.access_token)).status).to.equal(401)
    const ended = await refresh(url, next.refresh_token)
    expect(refusalOf(ended)).to.equal('400 invalid_grant')
  })

  // [RFC 9700 §4.14.2; Not shown 13]
  it('lets no family of refresh tokens grow older than 90 days [design 9]', async () => {
    let time = Date.now()
    await using service = await startService({ now: () => time })
    const { url } = service
    let { refresh_token: current } = await obtain(url)
    for (const days of [29, 29, 29]) {
      time += days * 86_400_000
      current = ((await refresh(url, current)).body as Tokens).refresh_token
    }
    const { exp, iat } = (await introspect(url, current)).body as { exp: number; iat: number }
    expect(exp - iat).to.be.closeTo(3 * 86_400, 5)
    time += 3 * 86_400_000
    expect(refusalOf(await refresh(url, current))).to.equal('400 invalid_grant')
  })

  it('refuses a refresh token of another origin, whose access tokens nobody would take [Errors 6]', async () => {
    await using service = await startService()
    const tokens = await obtain(service.url)
    const [family = ''] = tokens.refresh_token.split('.')
    await bindTo('https://elsewhere.example', family, service.service.stores.database)
    expect(refusalOf(await refresh(service.url, tokens.refresh_token))).to.equal(
      '400 invalid_grant',
    )
  })

  it('gives a retry no answer when the token was revoked in between', async () => {
    await using service = await startService()
    const tokens = await obtain(service.url)
    const next = (await refresh(service.url, tokens.refresh_token)).body as Tokens
    await revoke(service.url, next.refresh_token)
    const retried = await refresh(service.url, tokens.refresh_token)
    expect(refusalOf(retried)).to.equal('400 invalid_grant')
  })

  it('puts the roles of this moment into the id_token [design 15]', async () => {
    await using service = await startService()
    const code = await getCode(service.url)
    await service.service.stores.database.kysely
      .updateTable('site_role')
      .set({ role: 'lecturer' })
      .where('person_id', '=', 'per_sam')
      .execute()
    const { id_token } = (await exchange(service.url, code)).body as Tokens
    expect(decodeJwt(id_token ?? '')['roles']).to.deep.equal(['lecturer'])
  })

  // [What the service does 10]
  it('withdraws a scope that the operator took from the client: refused at the authorization endpoint, absent from the next refresh [design 2]', async () => {
    await using service = await startService()
    const { url } = service
    const scope = 'openid account:read account:write'
    const tokens = await obtain(url, { authorization: { scope } })
    const narrow = await obtain(url, { authorization: { scope: 'account:write' } })
    await service.service.stores.database.kysely
      .deleteFrom('oauth_application_scope')
      .where('client_id', '=', notes.clientId)
      .where('scope', '=', 'account:write')
      .execute()
    expect((await authorize(url, { scope })).get('error')).to.equal('invalid_scope')
    const asked = await refresh(url, tokens.refresh_token, { scope })
    expect(refusalOf(asked)).to.equal('400 invalid_scope')
    const next = (await refresh(url, tokens.refresh_token)).body as Tokens
    expect(next.scope).to.equal('openid account:read')
    expect((await introspect(url, next.access_token)).body).to.include({ scope: next.scope })
    const nothing = await refresh(url, narrow.refresh_token)
    expect(refusalOf(nothing)).to.equal('400 invalid_grant')
  })
})

function expectOpen({ headers }: Pick<Answer, 'headers'>, origin: string): void {
  expect(headers.get('access-control-allow-origin')).to.be.oneOf(['*', origin])
  expect(headers.get('access-control-allow-credentials')).to.equal(null)
}
