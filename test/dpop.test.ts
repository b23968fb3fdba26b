import { expect } from 'chai'
import { exportJWK, SignJWT, UnsecuredJWT } from 'jose'
import * as oidc from 'openid-client'

import { readScope } from '../src/directory/scopes/catalogue.ts'
import { makeDpopNonces } from '../src/oauth/keys/proofs.ts'
import { chooseBinding } from '../src/oauth/token/refresh-binding.ts'
import { paths } from '../src/platform/http/paths.ts'
import { introspect, obtainCode, obtainTokens } from './support/client.ts'
import {
  claude,
  notes,
  olivia,
  portal,
  type RunningService,
  sam,
  startService,
} from './support/gatehouse.ts'
import { messageOf } from './support/mcp.ts'
import {
  ath,
  type ClientKey,
  choose,
  makeClientKey,
  signProof,
  withPlans,
} from './support/proofs.ts'
import { discover, MEMBER_SCOPE, signIn } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage } from './support/storages.ts'
import { startWithPlatform, type WithPlatform } from './support/upstream.ts'
import { type Answer, answerOf, encode, type Fields } from './support/wire.ts'

const on = withPlans({ dpop: true })

/** openid-client binds the tokens to a key of its own and shows a proof everywhere. */
async function getBoundTokens(url: string, asking: Parameters<typeof signIn>[1] = {}) {
  const configuration = await discover(url, asking)
  const key = await oidc.randomDPoPKeyPair('ES256', { extractable: true })
  const DPoP = oidc.getDPoPHandle(configuration, key)
  const { callback, pkceCodeVerifier, start } = await signIn(url, asking)
  const tokens = await oidc.authorizationCodeGrant(
    configuration,
    callback,
    {
      pkceCodeVerifier,
      expectedNonce: start.searchParams.get('nonce') ?? '',
      expectedState: start.searchParams.get('state') ?? '',
    },
    asking.resource === false ? {} : { resource: url },
    { DPoP },
  )
  return { configuration, key, DPoP, tokens }
}

forEachStorage('DPoP (RFC 9449)', (start) => {
  const running = sharedService(on, start)

  for (const [kind, asking] of [
    ['a public', notes],
    ['a confidential', portal],
  ] as const) {
    // [RFC 9449 §4.1; RFC 9449 §5; RFC 9449 §6.2; RFC 9449 §7; RFC 9700 §2.2.1; RFC 9700
    // §4.10.1]
    it(`openid-client as ${kind} client: exchange, UserInfo, refresh, introspection`, async () => {
      const { url } = running()
      const { configuration, DPoP, tokens } = await getBoundTokens(url, asking)
      expect(tokens.token_type).to.equal('dpop')
      const seen = await oidc.fetchUserInfo(configuration, tokens.access_token, 'per_sam', { DPoP })
      expect(seen.sub).to.equal('per_sam')
      const next = await oidc.refreshTokenGrant(
        configuration,
        tokens.refresh_token ?? '',
        undefined,
        { DPoP },
      )
      expect(next.token_type).to.equal('dpop')
      // FAPI 2.0 §5.3.2.1: it is not replaced, so that no answer that is lost signs anybody out.
      expect(next.refresh_token).to.equal(tokens.refresh_token)
      const later = await oidc.fetchUserInfo(configuration, next.access_token, 'per_sam', { DPoP })
      expect(later.sub).to.equal('per_sam')
      const { body } = await introspect(url, next.access_token)
      expect(body).to.include({ active: true, token_type: 'DPoP' })
      expect(body.cnf)
        .to.have.property('jkt')
        .that.matches(/^[\w-]{43}$/)
    })
  }

  // [RFC 9449 §11.1; 129]
  it('a proof works once, also of many at the same time (§11.1)', async () => {
    const { url } = running()
    const { key, accessToken } = await boundToken(url, notes)
    const proof = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: ath(accessToken),
    })
    const answers = await Promise.all(
      Array.from(
        { length: 8 },
        async () => await ask(url, userinfo, { token: accessToken, proof }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(401)])
  })

  // [RFC 9449 §5; RFC 9449 §11.1]
  it('the same at the token endpoint, where the engine judges (§5)', async () => {
    const { url } = running()
    const key = await makeClientKey()
    const proof = await signProof(key, { htm: 'POST', htu: url + paths.token })
    const codes = [await obtainCode(url), await obtainCode(url), await obtainCode(url)]
    const answers = await Promise.all(
      codes.map(async ({ form }) => await postWithProof(url, form, proof)),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 400, 400])
  })

  it('a refresh token that is used again and again stays the same one, and its idle end moves', async () => {
    const { url, service } = running()
    const { key, refreshToken } = await boundToken(url, notes)
    const { kysely } = service.stores.database
    const [family = ''] = refreshToken.split('.')
    const read = async () =>
      await kysely
        .selectFrom('refresh_token_family')
        .select(['generation', 'steps'])
        .where('id', '=', family)
        .executeTakeFirstOrThrow()
    await kysely
      .updateTable('refresh_token_family')
      .set({ steps: '5' })
      .where('id', '=', family)
      .execute()
    // The token is from 1970 by now, and too old.
    expect((await refreshWith(url, key, refreshToken)).status).to.equal(400)
    const recent = Date.now() - 1000
    await kysely
      .updateTable('refresh_token_family')
      .set({ steps: String(recent) })
      .where('id', '=', family)
      .execute()
    for (let time = 0; time < 3; time += 1) {
      const answer = await refreshWith(url, key, refreshToken)
      expect([answer.status, answer.body.refresh_token]).to.deep.equal([200, refreshToken])
    }
    const { generation, steps } = await read()
    expect(generation).to.equal(0)
    expect(Number(steps)).to.be.above(recent)
  })
})

interface Surface {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly headers?: Record<string, string>
}

const userinfo: Surface = { method: 'GET', path: paths.userinfo }
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function tools(path: string): Surface {
  const { message, headers } = messageOf('tools/list', '2025-11-25', {})
  return { method: 'POST', path, headers: { ...json, ...headers }, body: JSON.stringify(message) }
}

/** Every address that takes a token, by who may use it. */
const surfaces: Readonly<Record<'member' | 'operator', readonly Surface[]>> = {
  member: [
    userinfo,
    { method: 'POST', path: paths.userinfo },
    { method: 'POST', path: paths.graphql, headers: json, body: '{"query":"{ viewer { id } }"}' },
    tools(paths.mcp),
    tools(paths.mcpMember),
  ],
  operator: [
    {
      method: 'POST',
      path: paths.adminGraphql,
      headers: json,
      body: '{"query":"{ site { id } }"}',
    },
    { method: 'GET', path: '/admin/api/coupons' },
    { method: 'GET', path: '/admin/api/coupons?page=2' },
    tools(paths.mcpAdmin),
  ],
}

interface Sent {
  readonly token: string
  readonly scheme?: string
  readonly proof?: string | undefined
}

async function ask(url: string, surface: Surface, { token, scheme = 'DPoP', proof }: Sent) {
  const { method, path, body, headers } = surface
  return await answerOf(
    await fetch(url + path, {
      method,
      headers: {
        ...headers,
        authorization: `${scheme} ${token}`,
        ...(proof !== undefined && { dpop: proof }),
      },
      ...(body !== undefined && { body }),
    }),
  )
}

async function postWithProof(url: string, form: Fields, proof?: string): Promise<Answer> {
  const response = await fetch(url + paths.token, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(proof !== undefined && { dpop: proof }),
    },
    body: encode(form),
  })
  return await answerOf(response)
}

/** Tokens that are bound to a key of ours, so that a test can make any proof. */
async function boundToken(
  url: string,
  client: {
    readonly clientId: string
    readonly redirectUri: string
    readonly clientSecret?: string
  },
  {
    scope = MEMBER_SCOPE,
    person = sam,
  }: { readonly scope?: string; readonly person?: typeof sam } = {},
) {
  const key = await makeClientKey()
  const { form } = await obtainCode(
    url,
    { client_id: client.clientId, redirect_uri: client.redirectUri, scope },
    person,
  )
  const proof = await signProof(key, { htm: 'POST', htu: url + paths.token })
  const secret = { client_secret: client.clientSecret }
  const { body, status } = await postWithProof(url, { ...form, ...secret }, proof)
  if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(body)}`)
  return {
    key,
    tokenType: String(body.token_type),
    accessToken: String(body.access_token),
    refreshToken: String(body.refresh_token),
  }
}

async function refreshWith(
  url: string,
  key: ClientKey | undefined,
  token: string | { readonly value: string; readonly client: typeof portal },
) {
  const refreshToken = typeof token === 'string' ? token : token.value
  const client = typeof token === 'string' ? { ...notes, clientSecret: undefined } : token.client
  const form = {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: client.clientId,
    client_secret: client.clientSecret,
  }
  return await postWithProof(
    url,
    form,
    key && (await signProof(key, { htm: 'POST', htu: url + paths.token })),
  )
}

describe('DPoP: at every address that takes a token', () => {
  let service: WithPlatform
  const held: Record<string, { key: ClientKey; accessToken: string }> = {}
  before(async function () {
    this.timeout(60_000)
    service = await startWithPlatform(on)
    held['member'] = await boundToken(service.url, notes)
    held['operator'] = await boundToken(service.url, claude, {
      person: olivia,
      scope: `openid ${readScope('school')} ${readScope('coupons')}`,
    })
  })
  after(async () => await service[Symbol.asyncDispose]())

  for (const who of ['member', 'operator'] as const) {
    for (const surface of surfaces[who]) {
      const name = `${surface.method} ${surface.path}`
      const holder = () => {
        const { key, accessToken } = held[who] ?? {}
        if (!key || accessToken === undefined) throw new Error('there is no token')
        const address = service.url + surface.path
        return { key, accessToken, address, url: service.url }
      }
      const prove = async (claims: Record<string, unknown> = {}) => {
        const { key, accessToken, address } = holder()
        return await signProof(key, {
          htm: surface.method,
          htu: address,
          claims: { ...ath(accessToken), ...claims },
        })
      }

      // [RFC 9449 §6; RFC 9449 §7]
      it(`${name}: takes a token with its proof, once`, async () => {
        const { url, accessToken } = holder()
        const proof = await prove()
        const answer = await ask(url, surface, { token: accessToken, proof })
        expect(answer.status, answer.text).to.equal(200)
        expect((await ask(url, surface, { token: accessToken, proof })).status).to.equal(401)
      })

      // [RFC 9449 §7.2; threat 14; 127]
      it(`${name}: a stolen token is of no use as a Bearer token, and is told so`, async () => {
        const { url, accessToken } = holder()
        for (const proof of [undefined, await prove()]) {
          const answer = await ask(url, surface, { token: accessToken, scheme: 'Bearer', proof })
          expect(answer.status).to.equal(401)
          const challenge = answer.headers.get('www-authenticate') ?? ''
          expect(challenge).to.match(/^DPoP .*error="invalid_token"/)
          expect(challenge).to.include('algs="ES256 PS256 EdDSA Ed25519"')
        }
      })

      // [RFC 9449 §4.3; RFC 9449 §7]
      it(`${name}: nor with a proof of another key, method, address or token`, async () => {
        const { url, accessToken, address } = holder()
        const thief = await makeClientKey()
        for (const [error, proof] of [
          [
            'invalid_token',
            await signProof(thief, { htm: surface.method, htu: address, claims: ath(accessToken) }),
          ],
          ['invalid_dpop_proof', await prove({ htm: 'DELETE' })],
          ['invalid_dpop_proof', await prove({ htu: `${url}/elsewhere` })],
          ['invalid_dpop_proof', await prove({ htu: address.replace('http:', 'https:') })],
          ['invalid_dpop_proof', await prove(ath('another'))],
          ['invalid_dpop_proof', await prove({ ath: undefined })],
          ['invalid_dpop_proof', undefined],
        ] as const) {
          const answer = await ask(url, surface, { token: accessToken, proof })
          expect(answer.status).to.equal(401)
          expect(answer.headers.get('www-authenticate')).to.match(
            new RegExp(`^DPoP .*error="${error}"`),
          )
          expect(answer.body.error).to.equal(error)
        }
      })
    }
  }

  it('tells the platform behind nothing of the proof, and its own token is what it was', async () => {
    const { key, accessToken } = held['operator'] ?? (await boundToken(service.url, claude))
    const surface = { method: 'GET', path: '/admin/api/coupons/one' }
    const proof = await signProof(key, {
      htm: 'GET',
      htu: service.url + surface.path,
      claims: ath(accessToken),
    })
    await ask(service.url, surface, { token: accessToken, proof })
    const { seen } = await service.platform.seen()
    const last = seen.at(-1)
    expect(last?.headers).to.not.have.property('dpop')
    expect(last?.headers['authorization']).to.match(/^Bearer /)
    expect(JSON.stringify(last)).to.not.include(accessToken)
  })
})

describe('DPoP: hostile proofs', () => {
  const running = sharedService(on)
  let holder: Awaited<ReturnType<typeof boundToken>>
  before(async () => {
    holder = await boundToken(running().url, notes)
  })

  const statusFor = async (proof: string) =>
    (await ask(running().url, userinfo, { token: holder.accessToken, proof })).status

  // [RFC 9449 §4.2; RFC 9449 §4.3; RFC 9449 §11.6; 129]
  it('without a signature, by a shared secret, of another type', async () => {
    const { url } = running()
    const { key, accessToken } = holder
    const claims = {
      ...{ htm: 'GET', htu: url + paths.userinfo, jti: 'j', iat: Math.floor(Date.now() / 1000) },
      ...ath(accessToken),
    }
    const unsigned = new UnsecuredJWT(claims).encode()
    const none = `${Buffer.from(JSON.stringify({ typ: 'dpop+jwt', alg: 'none', jwk: key.publicJwk })).toString('base64url')}.${unsigned.split('.')[1]}.`
    const shared = await new SignJWT(claims)
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'HS256', jwk: { kty: 'oct', x: 'c2VjcmV0' } })
      .sign(new TextEncoder().encode('secret-secret-secret-secret-secret'))
    const { d } = await exportJWK(key.privateKey)
    const withPrivate = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: ath(accessToken),
      header: { jwk: { ...key.publicJwk, d } },
    })
    const typed = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: ath(accessToken),
      header: { typ: 'JWT' },
    })
    const keyless = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: ath(accessToken),
      header: { jwk: undefined },
    })
    for (const proof of [
      unsigned,
      none,
      shared,
      withPrivate,
      typed,
      keyless,
      'x',
      'x'.repeat(5000),
    ]) {
      expect(await statusFor(proof), proof.slice(0, 40)).to.equal(401)
    }
  })

  // [RFC 9449 §4.1; RFC 9449 §4.2]
  it('without an id or a time, or with two headers', async () => {
    const { url } = running()
    const { key, accessToken } = holder
    const prove = async (claims: Record<string, unknown>) =>
      await signProof(key, {
        htm: 'GET',
        htu: url + paths.userinfo,
        claims: { ...ath(accessToken), ...claims },
      })
    for (const claims of [{ jti: undefined }, { jti: '' }, { jti: 7 }, { iat: undefined }]) {
      expect(await statusFor(await prove(claims))).to.equal(401)
    }
    const headers = new Headers({ authorization: `DPoP ${accessToken}` })
    headers.append('dpop', await prove({}))
    headers.append('dpop', await prove({}))
    expect((await fetch(url + paths.userinfo, { headers })).status).to.equal(401)
  })

  // [RFC 9449 §8; RFC 9449 §9]
  it('of another time is asked for with a nonce, which is then the one of every process (§8)', async () => {
    const { url } = running()
    const { key, accessToken, refreshToken } = holder
    const iat = Math.floor(Date.now() / 1000) - 3600
    const proof = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: { ...ath(accessToken), iat },
    })
    const answer = await ask(url, userinfo, { token: accessToken, proof })
    expect(answer.status).to.equal(401)
    expect(answer.headers.get('www-authenticate')).to.include('error="use_dpop_nonce"')
    const nonce = answer.headers.get('dpop-nonce') ?? ''
    const again = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: { ...ath(accessToken), iat, nonce },
    })
    expect(await statusFor(again)).to.equal(200)
    // The engine takes ours, and we the engine's.
    const { form } = await obtainCode(url)
    const exchange = await signProof(key, {
      htm: 'POST',
      htu: url + paths.token,
      claims: { iat, nonce },
    })
    expect((await postWithProof(url, form, exchange)).status).to.equal(200)
    const stale = await signProof(key, { htm: 'POST', htu: url + paths.token, claims: { iat } })
    const { form: another } = await obtainCode(url)
    const asked = await postWithProof(url, another, stale)
    expect([asked.status, asked.body.error]).to.deep.equal([400, 'use_dpop_nonce'])
    const theirs = asked.headers.get('dpop-nonce') ?? ''
    const refreshing = {
      ...{ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: notes.clientId },
    }
    const refused = await postWithProof(
      url,
      refreshing,
      await signProof(key, { htm: 'POST', htu: url + paths.token, claims: { iat } }),
    )
    expect([refused.status, refused.body.error]).to.deep.equal([400, 'use_dpop_nonce'])
    expect(refused.headers.get('dpop-nonce')).to.equal(theirs)
    const proven = await signProof(key, {
      htm: 'POST',
      htu: url + paths.token,
      claims: { iat, nonce: theirs },
    })
    expect((await postWithProof(url, refreshing, proven)).status).to.equal(200)
    const made = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: { ...ath(accessToken), nonce: 'made-up' },
    })
    expect(await statusFor(made)).to.equal(401)
  })

  it('a nonce is good for some minutes', () => {
    const clock = { ms: 1_700_000_000_000 }
    const nonces = makeDpopNonces(Buffer.alloc(32, 1), () => clock.ms)
    const nonce = nonces.current()
    const goodAfter = (minutes: number) => {
      clock.ms = 1_700_000_000_000 + minutes * 60_000
      return nonces.isGood(nonce)
    }
    expect([0, 1, 2, 3].map(goodAfter)).to.deep.equal([true, true, true, true])
    expect([4, 5, 60].map(goodAfter)).to.deep.equal([false, false, false])
  })

  // [RFC 9449 §7.1]
  it('a token that is bound to no key is no DPoP token', async () => {
    const { url } = running()
    const { accessToken } = await obtainTokens(url)
    const key = await makeClientKey()
    const proof = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: ath(accessToken),
    })
    expect((await ask(url, userinfo, { token: accessToken, proof })).status).to.equal(401)
    expect((await ask(url, userinfo, { token: accessToken, scheme: 'Bearer' })).status).to.equal(
      200,
    )
  })

  it('a bound token in a form is refused too', async () => {
    const { url } = running()
    const body = new URLSearchParams({ access_token: holder.accessToken })
    expect((await fetch(url + paths.userinfo, { method: 'POST', body })).status).to.equal(401)
  })

  // [RFC 9449 §7.1]
  it('a request without a token is offered both kinds', async () => {
    const { url } = running()
    for (const path of [paths.graphql, paths.adminGraphql, paths.mcpMember, paths.userinfo]) {
      const { headers } = await fetch(url + path, {
        method: path === paths.userinfo ? 'GET' : 'POST',
        headers: json,
        ...(path !== paths.userinfo && { body: '{}' }),
      })
      const challenge = headers.get('www-authenticate') ?? ''
      expect(challenge, path).to.match(/^Bearer .*resource_metadata=".*", DPoP algs="ES256 /)
    }
  })
})

describe('DPoP: which key a refresh binds to', () => {
  const cases: readonly [string, Parameters<typeof chooseBinding>[0], string][] = [
    [
      'nothing is bound, nothing proven',
      { bound: undefined, proven: undefined, isPublic: true, demanded: false },
      'keep',
    ],
    [
      'the client always binds, nothing proven',
      { bound: undefined, proven: undefined, isPublic: true, demanded: true },
      'refuse',
    ],
    [
      'bound, nothing proven',
      { bound: 'a', proven: undefined, isPublic: false, demanded: false },
      'refuse',
    ],
    ['bound, the same proven', { bound: 'a', proven: 'a', isPublic: true, demanded: true }, 'keep'],
    [
      'bound, another proven, public',
      { bound: 'a', proven: 'b', isPublic: true, demanded: false },
      'refuse',
    ],
    [
      'bound, another proven, confidential',
      { bound: 'a', proven: 'b', isPublic: false, demanded: true },
      'bind',
    ],
    [
      'not bound, proven',
      { bound: undefined, proven: 'b', isPublic: true, demanded: false },
      'bind',
    ],
  ]
  for (const [what, keys, kind] of cases) {
    it(`${what}: ${kind}`, () => expect(chooseBinding(keys).kind).to.equal(kind))
  }

  const running = sharedService(on)

  // [RFC 9449 §5; 131]
  it('a public client’s refresh token works with its own key only (§5)', async () => {
    const { url } = running()
    const { key, refreshToken } = await boundToken(url, notes)
    expect((await refreshWith(url, undefined, refreshToken)).body.error).to.equal('invalid_grant')
    const thief = await refreshWith(url, await makeClientKey(), refreshToken)
    expect(thief.body.error).to.equal('invalid_grant')
    // The thief ended nothing.
    expect((await refreshWith(url, key, refreshToken)).status).to.equal(200)
  })

  for (const afterMs of [1000, 60_000]) {
    // [RFC 9700 §4.14.2]
    it(`a thief who binds a stolen refresh token to a key of their own has nothing when its holder comes ${afterMs / 1000} s later [159]`, async () => {
      const clock = { ms: Date.now() }
      await using service = await startService({ ...on, now: () => clock.ms })
      const { url } = service
      const { refreshToken } = await obtainTokens(url)
      const thief = await makeClientKey()
      const stolen = await refreshWith(url, thief, refreshToken)
      expect(stolen.status).to.equal(200)
      clock.ms += afterMs
      expect((await refreshWith(url, undefined, refreshToken)).body.error).to.equal('invalid_grant')
      expect((await introspect(url, stolen.body.access_token)).body.active).to.equal(false)
      const next = await refreshWith(url, thief, stolen.body.refresh_token)
      expect(next.body.error).to.equal('invalid_grant')
    })
  }

  it('of several keys at the same time none takes the place of another: the grant ends [159]', async () => {
    const { url } = running()
    const { refreshToken } = await obtainTokens(url)
    const keys = await Promise.all([makeClientKey(), makeClientKey('ES256', 'another')])
    const answers = await Promise.all(
      [...keys, ...keys].map(async (key) => await refreshWith(url, key, refreshToken)),
    )
    const granted = answers.filter(({ status }) => status === 200)
    for (const { body } of granted) {
      expect((await introspect(url, body.access_token)).body.active).to.equal(false)
    }
    expect(answers.map(({ body }) => body.error)).to.include('invalid_grant')
  })

  it('the same key may bind it several times at the same time', async () => {
    const { url } = running()
    const { refreshToken } = await obtainTokens(url)
    const key = await makeClientKey()
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () => await refreshWith(url, key, refreshToken)),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    const [first] = answers
    expect((await refreshWith(url, key, first?.body.refresh_token)).status).to.equal(200)
  })

  it('a confidential client may change its key, and the tokens are bound to the new one', async () => {
    const { url } = running()
    const { refreshToken } = await boundToken(url, portal)
    const other = await makeClientKey()
    const { body } = await refreshWith(url, other, { value: refreshToken, client: portal })
    expect(body.token_type).to.equal('DPoP')
    const found = await introspect(url, body.access_token)
    expect(found.body.cnf).to.deep.equal({ jkt: other.thumbprint })
    const proof = await signProof(other, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: ath(body.access_token),
    })
    expect((await ask(url, userinfo, { token: body.access_token, proof })).status).to.equal(200)
  })

  it('tokens that were bound to none are bound by the first proof, and never fall back', async () => {
    const { url } = running()
    const { refreshToken } = await obtainTokens(url)
    const key = await makeClientKey()
    const bound = await refreshWith(url, key, refreshToken)
    expect(bound.body.token_type).to.equal('DPoP')
    expect(bound.body.refresh_token).to.not.equal(refreshToken)
    const back = await refreshWith(url, undefined, bound.body.refresh_token)
    expect(back.body.error).to.equal('invalid_grant')
    const kept = await refreshWith(url, key, bound.body.refresh_token)
    expect(kept.body.refresh_token).to.equal(bound.body.refresh_token)
    // The one from before is repeated within seconds, and gets the same answer as ever (design 10).
    const retry = await refreshWith(url, key, refreshToken)
    expect(retry.body.refresh_token).to.equal(bound.body.refresh_token)
  })

  // [RFC 9449 §5.2]
  it('an application that demands it gets no other tokens, at either grant (§5.2)', async () => {
    await using service: RunningService = await startService(on)
    const { url } = service
    const before = await obtainTokens(url)
    await choose(service, { bound_tokens_required_at: 1 }, notes.clientId)
    const { form } = await obtainCode(url)
    expect((await postWithProof(url, form)).body.error).to.equal('invalid_grant')
    expect((await refreshWith(url, undefined, before.refreshToken)).body.error).to.equal(
      'invalid_grant',
    )
    expect((await boundToken(url, notes)).tokenType).to.equal('DPoP')
  })

  // [RFC 6749 §4.1.2]
  it('a code of an application that demands it is no page that ran its callback twice', async () => {
    await using service: RunningService = await startService(on)
    const { url } = service
    await choose(service, { bound_tokens_required_at: 1 }, notes.clientId)
    const key = await makeClientKey()
    const { form } = await obtainCode(url)
    const send = async () =>
      await postWithProof(url, form, await signProof(key, { htm: 'POST', htu: url + paths.token }))
    const { body } = await send()
    const seen = async () => {
      const proof = await signProof(key, {
        htm: 'GET',
        htu: url + paths.userinfo,
        claims: ath(body.access_token),
      })
      return (await ask(url, userinfo, { token: body.access_token, proof })).status
    }
    expect(await seen()).to.equal(200)
    expect((await send()).body.error).to.equal('invalid_grant')
    expect(await seen()).to.equal(401)
    expect((await refreshWith(url, key, body.refresh_token)).body.error).to.equal('invalid_grant')
  })

  // [RFC 9449 §10]
  it('a code for one key (dpop_jkt) is of no use with another (§10)', async () => {
    const { url } = running()
    const key = await makeClientKey()
    for (const [prover, status] of [
      [await makeClientKey(), 400],
      [key, 200],
    ] as const) {
      const { form } = await obtainCode(url, { dpop_jkt: key.thumbprint })
      const proof = await signProof(prover, { htm: 'POST', htu: url + paths.token })
      expect((await postWithProof(url, form, proof)).status).to.equal(status)
    }
  })
})

describe('DPoP: while the plan is off', () => {
  it('no scheme is offered, and what was bound before is of no use', async () => {
    await using service = await startService(on)
    const { accessToken, refreshToken, key } = await boundToken(service.url, notes)
    const { port, host } = new URL(service.url)
    // A second process on the same database, as after a change of the configuration.
    await using off = await startService({
      environment: { DATA_DIR: service.config.dataDir, BASE_URL: `http://localhost:${port}` },
    })
    expect(host).to.include(port)
    const url = `http://127.0.0.1:${off.config.port}`
    const stolen = await ask(url, userinfo, { token: accessToken, scheme: 'Bearer' })
    expect(stolen.status).to.equal(401)
    const proof = await signProof(key, {
      htm: 'GET',
      htu: url + paths.userinfo,
      claims: ath(accessToken),
    })
    expect((await ask(url, userinfo, { token: accessToken, proof })).status).to.equal(400)
    const refreshed = await refreshWith(url, key, refreshToken)
    expect(refreshed.body.error).to.equal('invalid_grant')
    const { headers } = await fetch(url + paths.userinfo)
    expect(headers.get('www-authenticate')).to.not.include('DPoP')
  })
})
