import { exportJWK, SignJWT, UnsecuredJWT } from 'jose'
import * as oidc from 'openid-client'

import { readScope } from '../src/directory/scopes/catalogue.ts'
import { makeDpopNonces } from '../src/oauth/clients/proofs.ts'
import { paths } from '../src/platform/http/paths.ts'
import { asClaude, asPortal, introspect, obtainCode, obtainTokens } from './support/client.ts'
import { change, rowOf } from './support/database.ts'
import { notes, olivia, sam, startService } from './support/gatehouse.ts'
import { messageOf } from './support/mcp.ts'
import { ath, type ClientKey, makeClientKey, signProof, withPlans } from './support/proofs.ts'
import { getTokens, MEMBER_SCOPE } from './support/relying-party.ts'
import { shared } from './support/shared.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { startWithPlatform } from './support/upstream.ts'
import { type Fields, get, postForm, refusalOf, send, type WireRequest } from './support/wire.ts'

const on = withPlans({ dpop: true })

interface Surface extends WireRequest {
  readonly method: string
  readonly headers?: Record<string, string>
}

const userinfo: Surface = { method: 'GET', path: paths.userinfo }
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function tools(path: string): Surface {
  const { message, headers } = messageOf('tools/list', '2025-11-25', {})
  return { method: 'POST', path, headers: { ...json, ...headers }, body: JSON.stringify(message) }
}

function graphql(path: string, query: string): Surface {
  return { method: 'POST', path, headers: json, body: JSON.stringify({ query }) }
}

const surfaces: Readonly<Record<'member' | 'operator', readonly Surface[]>> = {
  member: [
    userinfo,
    { method: 'POST', path: paths.userinfo },
    graphql(paths.graphql, '{ viewer { id } }'),
    tools(paths.mcp),
    tools(paths.mcpMember),
  ],
  operator: [
    graphql(paths.adminGraphql, '{ site { id } }'),
    { method: 'GET', path: '/admin/api/coupons' },
    { method: 'GET', path: '/admin/api/coupons?page=2' },
    tools(paths.mcpAdmin),
  ],
}

type Bound = Pick<Awaited<ReturnType<typeof boundToken>>, 'url' | 'key' | 'accessToken'>

async function prove({ url, key, accessToken }: Bound, claims: object = {}, at = userinfo) {
  return await signProof(key, {
    ...{ htm: at.method, htu: url + at.path },
    claims: { ...ath(accessToken), ...claims },
  })
}

async function ask({ url, accessToken }: Bound, proof?: string, at = userinfo, scheme = 'DPoP') {
  const authorization = `${scheme} ${accessToken}`
  const headers = { ...at.headers, authorization, ...(proof !== undefined && { dpop: proof }) }
  return await send(url, { ...at, headers })
}

async function statusOf(bound: Bound): Promise<number> {
  return (await ask(bound, await prove(bound))).status
}

async function proveAtToken(url: string, key: ClientKey, claims: object = {}) {
  return await signProof(key, { htm: 'POST', htu: url + paths.token, claims })
}

async function postWithProof(url: string, form: Fields, proof?: string) {
  return await postForm(url + paths.token, form, proof === undefined ? [] : ['DPoP', proof])
}

const { client_secret, ...portalRequest } = asPortal

async function boundToken(url: string, request: Fields = {}, person = sam) {
  const key = await makeClientKey()
  const { form } = await obtainCode(url, { scope: MEMBER_SCOPE, ...request }, person)
  const secret = request === portalRequest ? { client_secret } : {}
  const proof = await proveAtToken(url, key)
  const { body, status, text } = await postWithProof(url, { ...form, ...secret }, proof)
  if (status !== 200) throw new Error(`no tokens: ${text}`)
  const { access_token: accessToken, refresh_token: refreshToken, token_type: tokenType } = body
  return { url, key, accessToken, refreshToken, tokenType }
}

async function refreshWith(url: string, token: string, key?: ClientKey, client: Fields = {}) {
  const form = { grant_type: 'refresh_token', refresh_token: token, client_id: notes.clientId }
  return await postWithProof(url, { ...form, ...client }, key && (await proveAtToken(url, key)))
}

forEachStorage('DPoP (RFC 9449)', (start) => {
  const running = sharedService(on, start)

  // [RFC 9449 §4.1; RFC 9449 §5; RFC 9449 §6.2; RFC 9449 §7; RFC 9700 §2.2.1; RFC 9700 §4.10.1]
  it('works with openid-client as a public client', async () => {
    const { url } = running()
    const { configuration, options, tokens } = await getTokens(url, { bound: true })
    const refreshToken = tokens.refresh_token ?? ''
    const next = await oidc.refreshTokenGrant(configuration, refreshToken, {}, options)
    // Bound refresh tokens are not rotated (FAPI 2.0 §5.3.2.1), so a lost response does not sign the person out.
    expect(next.refresh_token).to.equal(refreshToken)
    for (const { token_type, access_token } of [tokens, next]) {
      expect(token_type).to.equal('dpop')
      const seen = await oidc.fetchUserInfo(configuration, access_token, 'per_sam', options)
      expect(seen.sub).to.equal('per_sam')
    }
    const { body } = await introspect(url, next.access_token)
    expect(body).to.include({ active: true, token_type: 'DPoP' })
    expect(body.cnf.jkt).to.match(/^[\w-]{43}$/)
  })

  // [RFC 9449 §11.1; 129]
  it('accepts a proof once, also from concurrent requests (§11.1)', async () => {
    const bound = await boundToken(running().url)
    const proof = await prove(bound)
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(bound, proof)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(401)])
  })

  // [RFC 9449 §5; RFC 9449 §11.1]
  it('accepts a proof once at the token endpoint, which the engine checks (§5)', async () => {
    const { url } = running()
    const proof = await proveAtToken(url, await makeClientKey())
    const codes = [await obtainCode(url), await obtainCode(url), await obtainCode(url)]
    const answers = await Promise.all(codes.map(({ form }) => postWithProof(url, form, proof)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 400, 400])
  })

  it('keeps a refresh token when it is used and extends its idle time', async () => {
    const { url, kysely } = running()
    const { key, refreshToken } = await boundToken(url)
    const [family = ''] = refreshToken.split('.')
    const lastUsedAt = async (ms: number) =>
      await change(kysely, 'refresh_token_family', { id: family }, { steps: String(ms) })
    await lastUsedAt(5)
    expect((await refreshWith(url, refreshToken, key)).status).to.equal(400)
    const recent = Date.now() - 1000
    await lastUsedAt(recent)
    for (let time = 0; time < 3; time += 1) {
      const { status, body } = await refreshWith(url, refreshToken, key)
      expect([status, body.refresh_token]).to.deep.equal([200, refreshToken])
    }
    const { generation, steps } = await rowOf(kysely, 'refresh_token_family', { id: family })
    expect(generation).to.equal(0)
    expect(Number(steps)).to.be.above(recent)
  })
})

describe('DPoP at every endpoint that takes a token', () => {
  const service = sharedService(on, startWithPlatform)
  const held = shared(async () => {
    const scope = `openid ${readScope('school')} ${readScope('coupons')}`
    return {
      member: await boundToken(service().url),
      operator: await boundToken(service().url, { ...asClaude, scope }, olivia),
    }
  })

  for (const who of ['member', 'operator'] as const) {
    for (const at of surfaces[who]) {
      const name = `${at.method} ${at.path}`

      it(`${name} accepts a token with its proof, once [RFC 9449 §6; RFC 9449 §7]`, async () => {
        const proof = await prove(held()[who], {}, at)
        const answer = await ask(held()[who], proof, at)
        expect(answer.status, answer.text).to.equal(200)
        expect((await ask(held()[who], proof, at)).status).to.equal(401)
      })

      // [RFC 9449 §7.2; threat 14; 127]
      it(`${name} refuses a stolen token as a Bearer token`, async () => {
        for (const proof of [undefined, await prove(held()[who], {}, at)]) {
          const { status, headers } = await ask(held()[who], proof, at, 'Bearer')
          expect(status).to.equal(401)
          expect(headers.get('www-authenticate'))
            .to.match(/^DPoP .*error="invalid_token"/)
            .and.include('algs="ES256 PS256 EdDSA Ed25519"')
        }
      })

      // [RFC 9449 §4.3; RFC 9449 §7]
      it(`${name} refuses a proof of another key, method, address or token`, async () => {
        const htu = service().url + at.path
        const thief = { ...held()[who], key: await makeClientKey() }
        const proofs = await Promise.all([
          prove(held()[who], { htm: 'DELETE' }, at),
          prove(held()[who], { htu: `${service().url}/elsewhere` }, at),
          prove(held()[who], { htu: htu.replace('http:', 'https:') }, at),
          prove(held()[who], ath('another'), at),
          prove(held()[who], { ath: undefined }, at),
          undefined,
        ])
        for (const [error, proof] of [
          ['invalid_token', await prove(thief, {}, at)] as const,
          ...proofs.map((proof) => ['invalid_dpop_proof', proof] as const),
        ]) {
          const answer = await ask(held()[who], proof, at)
          expect(refusalOf(answer)).to.equal(`401 ${error}`)
          const challenge = answer.headers.get('www-authenticate')
          expect(challenge).to.match(new RegExp(`^DPoP .*error="${error}"`))
        }
      })
    }
  }
})

describe('DPoP proofs', () => {
  const running = sharedService(on)
  const holder = shared(async () => await boundToken(running().url))

  // [RFC 9449 §4.2; RFC 9449 §4.3; RFC 9449 §11.6; 129]
  it('are refused unsigned, with a shared secret, of another type or malformed', async () => {
    const { key, accessToken } = holder()
    const at = { htm: 'GET', htu: running().url + paths.userinfo }
    const claims = { ...at, jti: 'j', iat: Math.floor(Date.now() / 1000), ...ath(accessToken) }
    const unsigned = new UnsecuredJWT(claims).encode()
    const alg = { typ: 'dpop+jwt', alg: 'none', jwk: key.publicJwk }
    const none = Buffer.from(JSON.stringify(alg)).toString('base64url')
    const shared = await new SignJWT(claims)
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'HS256', jwk: { kty: 'oct', x: 'c2VjcmV0' } })
      .sign(new TextEncoder().encode('secret-secret-secret-secret-secret'))
    const { d } = await exportJWK(key.privateKey)
    const headers = [{ jwk: { ...key.publicJwk, d } }, { typ: 'JWT' }, { jwk: undefined }]
    const odd = headers.map((header) => signProof(key, { ...at, claims: ath(accessToken), header }))
    const malformed = ['x', 'x'.repeat(5000), `${none}.${unsigned.split('.')[1]}.`]
    for (const proof of [unsigned, shared, ...malformed, ...(await Promise.all(odd))])
      expect((await ask(holder(), proof)).status, proof.slice(0, 40)).to.equal(401)
  })

  // [RFC 9449 §4.1; RFC 9449 §4.2]
  it('are refused without an id or a time, and in two headers, and are needed for a bound token in a form', async () => {
    const address = running().url + paths.userinfo
    for (const claims of [{ jti: undefined }, { jti: '' }, { jti: 7 }, { iat: undefined }])
      expect((await ask(holder(), await prove(holder(), claims))).status).to.equal(401)
    const authorization = ['Authorization', `DPoP ${holder().accessToken}`]
    const twice = ['DPoP', await prove(holder()), 'DPoP', await prove(holder())]
    expect((await get(address, [...authorization, ...twice])).status).to.equal(401)
    expect((await postForm(address, { access_token: holder().accessToken })).status).to.equal(401)
  })

  // [RFC 9449 §8; RFC 9449 §9]
  it('need a nonce when they are old; every endpoint accepts the same nonce (§8)', async () => {
    const { url } = running()
    const { key, refreshToken: refresh_token } = holder()
    const iat = Math.floor(Date.now() / 1000) - 3600
    const answer = await ask(holder(), await prove(holder(), { iat }))
    expect(answer.status).to.equal(401)
    expect(answer.headers.get('www-authenticate')).to.include('error="use_dpop_nonce"')
    const nonce = answer.headers.get('dpop-nonce') ?? ''
    expect((await ask(holder(), await prove(holder(), { iat, nonce }))).status).to.equal(200)
    const { form } = await obtainCode(url)
    const exchanged = await postWithProof(url, form, await proveAtToken(url, key, { iat, nonce }))
    expect(exchanged.status).to.equal(200)
    const { form: another } = await obtainCode(url)
    const refresh = { grant_type: 'refresh_token', refresh_token, client_id: notes.clientId }
    const nonces = []
    for (const asked of [another, refresh]) {
      const refused = await postWithProof(url, asked, await proveAtToken(url, key, { iat }))
      expect(refusalOf(refused)).to.equal('400 use_dpop_nonce')
      nonces.push(refused.headers.get('dpop-nonce'))
    }
    const [theirs] = nonces
    expect(nonces).to.deep.equal([theirs, theirs])
    const proven = await proveAtToken(url, key, { iat, nonce: theirs })
    expect((await postWithProof(url, refresh, proven)).status).to.equal(200)
    expect((await ask(holder(), await prove(holder(), { nonce: 'made-up' }))).status).to.equal(401)
  })

  it('may use a nonce for some minutes', () => {
    const clock = { ms: 1_700_000_000_000 }
    const nonces = makeDpopNonces(Buffer.alloc(32, 1), () => clock.ms)
    const nonce = nonces.current()
    const goodAfter = (minutes: number) => {
      clock.ms = 1_700_000_000_000 + minutes * 60_000
      return nonces.isGood(nonce)
    }
    expect([0, 1, 2, 3, 4, 5, 60].filter(goodAfter)).to.deep.equal([0, 1, 2, 3])
  })

  it('do not turn a token without a key into a DPoP token [RFC 9449 §7.1]', async () => {
    const { accessToken } = await obtainTokens(running().url)
    const unbound = { url: running().url, accessToken, key: await makeClientKey() }
    expect(await statusOf(unbound)).to.equal(401)
    expect((await ask(unbound, undefined, userinfo, 'Bearer')).status).to.equal(200)
  })

  it('are an option beside Bearer in the challenge to a request without a token [RFC 9449 §7.1]', async () => {
    const query = '{ __typename }'
    for (const { path, ...at } of [
      ...[graphql(paths.graphql, query), graphql(paths.adminGraphql, query)],
      ...[tools(paths.mcpMember), userinfo],
    ]) {
      const challenge = (await send(running().url, { path, ...at })).headers.get('www-authenticate')
      expect(challenge, path).to.match(/^Bearer .*resource_metadata=".*", DPoP algs="ES256 /)
    }
  })
})

describe('DPoP: the key to which a refresh binds', () => {
  const running = sharedService(on)
  const url = () => running().url

  for (const afterMs of [1000, 60_000]) {
    // [RFC 9700 §4.14.2]
    it(`loses all tokens when it is a thief's and the holder returns ${afterMs / 1000} s later [159]`, async () => {
      const clock = { ms: Date.now() }
      await using service = await startService({ ...on, now: () => clock.ms })
      const { url } = service
      const { refreshToken } = await obtainTokens(url)
      const thief = await makeClientKey()
      const stolen = await refreshWith(url, refreshToken, thief)
      expect(stolen.status).to.equal(200)
      clock.ms += afterMs
      expect((await refreshWith(url, refreshToken)).body.error).to.equal('invalid_grant')
      expect((await introspect(url, stolen.body.access_token)).body.active).to.equal(false)
      const next = await refreshWith(url, stolen.body.refresh_token, thief)
      expect(next.body.error).to.equal('invalid_grant')
    })
  }

  it('cannot be one of several concurrent ones: the grant ends [159]', async () => {
    const { refreshToken } = await obtainTokens(url())
    const keys = await Promise.all([makeClientKey(), makeClientKey('ES256', 'another')])
    const answers = await Promise.all(
      [...keys, ...keys].map(async (key) => await refreshWith(url(), refreshToken, key)),
    )
    for (const { body } of answers.filter(({ status }) => status === 200))
      expect((await introspect(url(), body.access_token)).body.active).to.equal(false)
    expect(answers.map(({ body }) => body.error)).to.include('invalid_grant')
  })

  it('may be bound by concurrent requests when it is the same', async () => {
    const { refreshToken } = await obtainTokens(url())
    const key = await makeClientKey()
    const requests = Array.from({ length: 4 }, () => refreshWith(url(), refreshToken, key))
    const answers = await Promise.all(requests)
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    expect((await refreshWith(url(), answers[0]?.body.refresh_token, key)).status).to.equal(200)
  })

  it('may change for a confidential client, which must prove one', async () => {
    const { refreshToken } = await boundToken(url(), portalRequest)
    const missing = await refreshWith(url(), refreshToken, undefined, asPortal)
    expect(missing.body.error).to.equal('invalid_grant')
    const key = await makeClientKey()
    const { body } = await refreshWith(url(), refreshToken, key, asPortal)
    expect(body.token_type).to.equal('DPoP')
    const found = await introspect(url(), body.access_token)
    expect(found.body.cnf).to.deep.equal({ jkt: key.thumbprint })
    expect(await statusOf({ url: url(), key, accessToken: body.access_token })).to.equal(200)
  })

  // [RFC 9449 §5; 131]
  it('is only that of the first proof for the refresh token of a public client (§5)', async () => {
    const { refreshToken } = await obtainTokens(url())
    const key = await makeClientKey()
    const { body: bound } = await refreshWith(url(), refreshToken, key)
    expect(bound.token_type).to.equal('DPoP')
    expect(bound.refresh_token).to.not.equal(refreshToken)
    for (const wrong of [undefined, await makeClientKey()]) {
      const { body } = await refreshWith(url(), bound.refresh_token, wrong)
      expect(body.error).to.equal('invalid_grant')
    }
    // The old refresh token, repeated within seconds, gets the same response (design 10).
    for (const used of [bound.refresh_token, refreshToken])
      expect((await refreshWith(url(), used, key)).body.refresh_token).to.equal(bound.refresh_token)
  })

  // [RFC 9449 §5.2; RFC 6749 §4.1.2]
  it('is required at both grants for an application that demands bound tokens, whose grant ends when a code comes twice', async () => {
    await using service = await startService(on)
    const { url, kysely } = service
    const before = await obtainTokens(url)
    const ofNotes = { client_id: notes.clientId }
    await change(kysely, 'oauth_application', ofNotes, { bound_tokens_required_at: 1 })
    const { form } = await obtainCode(url)
    expect((await postWithProof(url, form)).body.error).to.equal('invalid_grant')
    expect((await refreshWith(url, before.refreshToken)).body.error).to.equal('invalid_grant')

    const key = await makeClientKey()
    const { form: another } = await obtainCode(url)
    const exchange = async () => await postWithProof(url, another, await proveAtToken(url, key))
    const { body } = await exchange()
    const bound = { url, key, accessToken: body.access_token }
    expect([body.token_type, await statusOf(bound)]).to.deep.equal(['DPoP', 200])
    expect((await refreshWith(url, body.refresh_token, key)).status).to.equal(200)
    expect((await exchange()).body.error).to.equal('invalid_grant')
    expect(await statusOf(bound)).to.equal(401)
    expect((await refreshWith(url, body.refresh_token, key)).body.error).to.equal('invalid_grant')
  })

  it('must be that of dpop_jkt at the exchange of the code (§10) [RFC 9449 §10]', async () => {
    const key = await makeClientKey()
    for (const [prover, status] of [
      [await makeClientKey(), 400],
      [key, 200],
    ] as const) {
      const { form } = await obtainCode(url(), { dpop_jkt: key.thumbprint })
      const proof = await proveAtToken(url(), prover)
      expect((await postWithProof(url(), form, proof)).status).to.equal(status)
    }
  })
})

it('DPoP is not offered while the plan is off, and tokens that were bound before are refused', async () => {
  await using service = await startService(on)
  const { key, accessToken, refreshToken } = await boundToken(service.url)
  const { port } = new URL(service.url)
  // Start a second instance on the same database with DPoP off, as if it had been disabled in the configuration.
  const environment = { DATA_DIR: service.config.dataDir, BASE_URL: `http://localhost:${port}` }
  await using off = await startService({ environment })
  const bound = { url: `http://127.0.0.1:${off.config.port}`, key, accessToken }
  expect((await ask(bound, undefined, userinfo, 'Bearer')).status).to.equal(401)
  expect(await statusOf(bound)).to.equal(401)
  expect((await refreshWith(bound.url, refreshToken, key)).body.error).to.equal('invalid_grant')
  const { headers } = await get(bound.url + paths.userinfo)
  expect(headers.get('www-authenticate')).to.not.include('DPoP')
})
