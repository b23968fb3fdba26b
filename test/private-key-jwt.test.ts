import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import { SignJWT, UnsecuredJWT } from 'jose'
import * as oidc from 'openid-client'

import { paths } from '../src/platform/http/paths.ts'
import { makeGuardedFetch } from '../src/platform/outgoing/guarded-fetch.ts'
import { asPortal, exchange, getCode, introspect } from './support/client.ts'
import { documentAnswer, startDocumentHost } from './support/document-host.ts'
import {
  notes,
  olivia,
  portal,
  type RunningService,
  resourceServer,
  startService,
} from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import {
  ASSERTION_TYPE,
  byAssertion,
  type ClientKey,
  choose,
  giveKeys,
  makeClientKey,
  signAssertion,
  withPlans,
} from './support/proofs.ts'
import { signIn } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { requireProgram } from './support/skipped.ts'
import { forEachStorage } from './support/storages.ts'
import { postForm } from './support/wire.ts'

const on = withPlans({ privateKeyJwt: true })

/** openid-client as a client with a key of its own. */
async function discoverWithKey(url: string, key: ClientKey, clientId: string = portal.clientId) {
  return await oidc.discovery(
    new URL(url),
    clientId,
    undefined,
    oidc.PrivateKeyJwt({ key: key.privateKey, kid: key.kid }),
    { execute: [oidc.allowInsecureRequests] },
  )
}

forEachStorage('private_key_jwt (RFC 7523)', (start) => {
  const running = sharedService(on, start)

  for (const alg of ['ES256', 'PS256', 'EdDSA']) {
    // [OpenID Connect Core §9 (private_key_jwt); RFC 6749 §2.3.2; RFC 9700 §2.5]
    it(`a client signs with ${alg}: exchange, refresh, introspection, revocation`, async () => {
      const service = running()
      const key = await makeClientKey(alg)
      await giveKeys(service, [key])
      const configuration = await discoverWithKey(service.url, key)
      const {
        callback,
        pkceCodeVerifier,
        start: address,
      } = await signIn(service.url, { ...portal })
      const tokens = await oidc.authorizationCodeGrant(
        configuration,
        callback,
        {
          pkceCodeVerifier,
          expectedNonce: address.searchParams.get('nonce') ?? '',
          expectedState: address.searchParams.get('state') ?? '',
        },
        { resource: service.url },
      )
      expect(tokens.claims()?.sub).to.equal('per_sam')
      const next = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      const found = await oidc.tokenIntrospection(configuration, next.access_token)
      expect(found).to.include({ active: true, client_id: portal.clientId })
      await oidc.tokenRevocation(configuration, next.refresh_token ?? '')
      const later = await oidc.tokenIntrospection(configuration, next.access_token)
      expect(later).to.deep.equal({ active: false })
    })
  }

  // [OpenID Connect Core §9 (private_key_jwt); 123]
  it('an assertion works once, at the engine’s endpoints and at ours, also at the same time (RFC 7523 §3)', async () => {
    const service = running()
    const key = await makeClientKey()
    await giveKeys(service, [key])
    const assertion = await signAssertion(key, service.url)
    const answers = await Promise.all(
      Array.from(
        { length: 8 },
        async () => await introspect(service.url, 'x', byAssertion(assertion)),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(401)])
    const again = await postForm(service.url + paths.revocation, {
      token: 'x',
      ...byAssertion(assertion),
    })
    expect(again.status).to.equal(401)

    const other = await signAssertion(key, service.url)
    const engine = await Promise.all(
      Array.from(
        { length: 8 },
        async () =>
          await postForm(service.url + paths.revocation, { token: 'x', ...byAssertion(other) }),
      ),
    )
    expect(engine.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(401)])
  })
})

describe('private_key_jwt: what is refused', () => {
  const running = sharedService(on)
  let key: ClientKey
  before(async () => {
    key = await makeClientKey()
    await giveKeys(running(), [key])
  })

  /** The two places where an assertion is judged: the engine's, and our own. */
  async function statusesFor(assertion: string, more: Record<string, string | undefined> = {}) {
    const { url } = running()
    const fields = { ...byAssertion(assertion), ...more }
    const revoked = await postForm(url + paths.revocation, { token: 'x', ...fields })
    const introspected = await introspect(url, 'x', fields)
    return [revoked.status, introspected.status]
  }

  const now = Math.floor(Date.now() / 1000)
  const wrong: readonly [string, Record<string, unknown>][] = [
    ['for another server', { aud: 'https://other.example' }],
    ['without an audience', { aud: undefined }],
    ['of another issuer', { iss: notes.clientId }],
    ['that has ended', { exp: now - 60 }],
    ['without an end', { exp: undefined }],
    ['without an id', { jti: undefined }],
    ['with an id that is no text', { jti: 7 }],
    ['with an id that is an object', { jti: { id: 7 } }],
    ['with an empty id', { jti: '' }],
  ]
  for (const [what, claims] of wrong) {
    it(`an assertion ${what}`, async () => {
      const { url } = running()
      const assertions = [
        await signAssertion(key, url, claims),
        await signAssertion(key, url, claims),
      ]
      for (const assertion of assertions) {
        const [revoked, introspected] = await statusesFor(assertion)
        expect(revoked).to.be.oneOf([400, 401])
        expect(introspected).to.equal(401)
      }
    })
  }

  // [OpenID Connect Core §9 (private_key_jwt); threat 11; 123]
  it('an assertion without a signature, by a shared secret, or by the key of somebody else', async () => {
    const { url } = running()
    const claims = {
      ...{ iss: portal.clientId, sub: portal.clientId, aud: url, jti: crypto.randomUUID() },
      exp: now + 60,
    }
    const unsigned = new UnsecuredJWT(claims).encode()
    const shared = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(portal.clientSecret))
    const stranger = await makeClientKey('ES256', key.kid)
    for (const assertion of [unsigned, shared, await signAssertion(stranger, url)]) {
      expect(await statusesFor(assertion)).to.deep.equal([401, 401])
    }
  })

  it('an assertion for another client_id, or beside a secret', async () => {
    const { url } = running()
    const [, named] = await statusesFor(await signAssertion(key, url), {
      client_id: notes.clientId,
    })
    expect(named).to.equal(401)
    const both = await statusesFor(await signAssertion(key, url), {
      client_secret: portal.clientSecret,
    })
    expect(both).to.deep.equal([400, 401])
    const untyped = await statusesFor(await signAssertion(key, url), {
      client_assertion_type: 'urn:other',
    })
    expect(untyped).to.deep.equal([400, 401])
  })

  // [RFC 6749 §2.3.2]
  it('the secret of a client that has keys, and the assertion of one that has none', async () => {
    const { url } = running()
    const secret = { client_id: portal.clientId, client_secret: portal.clientSecret }
    expect((await introspect(url, 'x', secret)).status).to.equal(401)
    expect((await postForm(url + paths.revocation, { token: 'x', ...secret })).status).to.equal(401)
    const ids = { iss: resourceServer.clientId, sub: resourceServer.clientId }
    const [revoked, introspected] = await statusesFor(await signAssertion(key, url, ids))
    expect([revoked, introspected]).to.deep.equal([401, 401])
  })

  // [143]
  it('an audience beside the issuer, for a client that chose a part of FAPI 2.0 (§5.3.2.1)', async () => {
    await using service = await startService(
      withPlans({ privateKeyJwt: true, pushedAuthorizationRequests: true }),
    )
    await giveKeys(service, [key])
    const token = service.url + paths.token
    const ask = async (audience: string | string[]) =>
      await postForm(service.url + paths.revocation, {
        token: 'x',
        ...byAssertion(await signAssertion(key, audience)),
      })
    const introspected = async (audience: string | string[]) =>
      await introspect(service.url, 'x', byAssertion(await signAssertion(key, audience)))
    for (const at of [ask, introspected]) {
      await choose(service, { pushed_requests_required_at: null })
      expect((await at(token)).status).to.equal(200)
      await choose(service, { pushed_requests_required_at: 1 })
      expect((await at(token)).status).to.equal(401)
      expect((await at([service.url])).status).to.equal(401)
      expect((await at(service.url)).status).to.equal(200)
    }
  })

  it('an audience that names another server besides (audience injection, CVE-2025-27370) [143]', async () => {
    const { url } = running()
    const ours = [url, url + paths.token]
    expect(await statusesFor(await signAssertion(key, ours))).to.deep.equal([200, 401])
    expect(
      (await introspect(url, 'x', byAssertion(await signAssertion(key, ours)))).status,
    ).to.equal(200)
    for (const others of [
      [url, 'https://other.example'],
      ['https://other.example', url + paths.token],
      [`${url}/`, url],
      [],
    ]) {
      const assertions = [await signAssertion(key, others), await signAssertion(key, others)]
      for (const assertion of assertions) {
        expect(await statusesFor(assertion), others.join(' ')).to.deep.equal([401, 401])
      }
    }
  })

  it('one that was made for later, which a store that forgot would take again [162]', async () => {
    await using service = await startService(
      withPlans({ privateKeyJwt: true, pushedAuthorizationRequests: true }),
    )
    await giveKeys(service, [key])
    const statuses = async (aheadSeconds: number) => {
      const iat = Math.floor(Date.now() / 1000) + aheadSeconds
      const sign = async () => await signAssertion(key, service.url, { iat, exp: iat + 60 })
      const fields = { token: 'x', ...byAssertion(await sign()) }
      const revoked = await postForm(service.url + paths.revocation, fields)
      const introspected = await introspect(service.url, 'x', byAssertion(await sign()))
      return [revoked.status, introspected.status]
    }
    expect(await statuses(3600), 'an hour').to.deep.equal([401, 401])
    expect(await statuses(280), 'a clock that is off').to.deep.equal([200, 200])
    // FAPI 2.0 Security Profile §5.3.2.1: ten seconds ahead are taken, more than sixty are not.
    await choose(service, { pushed_requests_required_at: 1 })
    expect(await statuses(90), 'FAPI').to.deep.equal([401, 401])
    expect(await statuses(10), 'FAPI').to.deep.equal([200, 200])
  })

  it('one that brings the key of its own signature, or demands what nobody knows (CVE-2025-59420) [168]', async () => {
    const { url } = running()
    const stranger = await makeClientKey('ES256', key.kid)
    const asked: string[] = []
    const host = createServer((request, response) => {
      asked.push(String(request.url))
      response.end(JSON.stringify({ keys: [stranger.publicJwk] }))
    }).listen(0, '127.0.0.1')
    await once(host, 'listening')
    const address = `http://127.0.0.1:${(host.address() as AddressInfo).port}/keys`
    const sign = async (by: ClientKey, header: Record<string, unknown>) => {
      const claims = { iss: portal.clientId, sub: portal.clientId, aud: url, jti: randomUUID() }
      return await new SignJWT(claims)
        .setIssuedAt()
        .setExpirationTime('1m')
        .setProtectedHeader({ alg: by.alg, kid: by.kid, ...header })
        .sign(by.privateKey, { crit: { unheard: true } })
    }
    const wrong = [
      [stranger, { jwk: stranger.publicJwk }],
      [stranger, { jku: address }],
      [stranger, { x5u: address, x5c: ['AAAA'] }],
      [key, { crit: ['unheard'], unheard: true }],
    ] as const
    for (const [by, header] of wrong) {
      const said = JSON.stringify(header)
      expect(await statusesFor(await sign(by, header)), said).to.deep.equal([401, 401])
    }
    host.close()
    expect(asked, 'nobody is asked for keys').to.deep.equal([])
    expect((await statusesFor(await sign(key, {})))[0]).to.equal(200)
  })

  it('one whose subject is no text, as one of nobody [155]', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const sub of [7, {}, [portal.clientId], null, true]) {
      const assertion = `${part({ alg: 'ES256' })}.${part({ iss: portal.clientId, sub })}.x`
      expect(await statusesFor(assertion), String(sub)).to.deep.equal([401, 401])
    }
  })

  it('nothing for a DPoP header beside it that is none [145]', async () => {
    const { url } = running()
    for (const proof of ['x', `${btoa('{}')}.x.y`, '\u00e4.\u00e4']) {
      const form = { token: 'x', ...byAssertion(await signAssertion(key, url)) }
      const revoked = await postForm(url + paths.revocation, form, ['DPoP', proof])
      expect(revoked.status, proof).to.equal(200)
    }
  })

  it('everything of the kind while the plan is off, and the client is off with it', async () => {
    await using service = await startService()
    await giveKeys(service, [key])
    const metadata = await (await fetch(service.url + paths.authorizationServer)).json()
    expect(JSON.stringify(metadata)).to.not.match(
      /private_key_jwt|signing_alg_values_supported":\["ES256","PS256/,
    )
    const assertion = await signAssertion(key, service.url)
    expect((await introspect(service.url, 'x', byAssertion(assertion))).status).to.equal(401)
  })
})

describe('private_key_jwt: keys at an address of the client', () => {
  let openssl = ''
  before(function () {
    openssl = requireProgram(this, 'openssl')
  })

  const jwksUri = 'https://client.example/keys.json'

  async function start(
    use: (
      service: RunningService,
      host: Awaited<ReturnType<typeof startDocumentHost>>,
      clock: { ms: number },
    ) => Promise<void>,
  ) {
    await using host = await startDocumentHost(openssl)
    const clock = { ms: Date.now() }
    await using service = await startService({ ...on, fetch: host.fetch, now: () => clock.ms })
    await choose(service, { jwks: null, jwks_uri: jwksUri, auth_method: 'private_key_jwt' })
    await use(service, host, clock)
  }

  it('are fetched once for the engine’s endpoints and for ours', async () => {
    await start(async (service, host) => {
      const key = await makeClientKey()
      host.serve(documentAnswer({ keys: [key.publicJwk] }, { 'cache-control': 'max-age=300' }))
      for (const endpoint of [paths.revocation, paths.introspection, paths.revocation]) {
        const fields = byAssertion(await signAssertion(key, service.url))
        const answer = await postForm(service.url + endpoint, { token: 'x', ...fields })
        expect(answer.status, endpoint).to.equal(200)
      }
      expect(host.requests).to.deep.equal(['client.example/keys.json'])
    })
  })

  // [125]
  it('follow no redirect, and are no larger than they may be', async () => {
    await start(async (service, host) => {
      const key = await makeClientKey()
      const ask = async () =>
        await introspect(service.url, 'x', byAssertion(await signAssertion(key, service.url)))
      host.serve((request, response) => {
        if (request.url === '/other.json') {
          response.writeHead(200, { 'content-type': 'application/json' })
          response.end(JSON.stringify({ keys: [key.publicJwk] }))
        } else response.writeHead(302, { location: 'https://client.example/other.json' }).end()
      })
      expect((await ask()).status).to.equal(401)
      expect(host.requests).to.deep.equal(['client.example/keys.json'])
      host.serve(documentAnswer({ keys: [key.publicJwk], padding: 'x'.repeat(100_000) }))
      expect((await ask()).status).to.equal(401)
    })
  })

  // [125]
  it('are not fetched from a private address, whatever name leads there', async () => {
    let arrived = 0
    const guarded = makeGuardedFetch()
    await using service = await startService({
      ...on,
      fetch: async (input, init) => {
        arrived += 1
        return await guarded(input, init)
      },
    })
    const key = await makeClientKey()
    for (const address of [
      'https://127.0.0.1:1/keys',
      'https://localhost:1/keys',
      'https://[::1]:1/k',
    ]) {
      await choose(service, { jwks: null, jwks_uri: address, auth_method: 'private_key_jwt' })
      for (const endpoint of [paths.revocation, paths.introspection]) {
        const fields = byAssertion(await signAssertion(key, service.url))
        const answer = await postForm(service.url + endpoint, { token: 'x', ...fields })
        expect(answer.status, address).to.be.oneOf([400, 401])
      }
    }
    expect(arrived).to.be.above(0)
  })
})

describe('private_key_jwt: hosts of keys that fail', () => {
  it('keep no other client from its keys, however often strangers ask with their names [161]', async () => {
    const key = await makeClientKey()
    const asked = new Map<string, number>()
    await using service = await startService({
      ...on,
      fetch: async (input) => {
        const { host } = new URL(String(input))
        asked.set(host, (asked.get(host) ?? 0) + 1)
        if (host === 'good.example') return Response.json({ keys: [key.publicJwk] })
        throw new Error('nobody is there')
      },
    })
    const authenticate = async (host: string) => {
      const jwks_uri = `https://${host}/keys`
      await choose(service, { jwks: null, jwks_uri, auth_method: 'private_key_jwt' })
      const fields = byAssertion(await signAssertion(key, service.url))
      return (await introspect(service.url, 'x', fields)).status
    }
    for (const host of ['a', 'b', 'c', 'd', 'e']) {
      for (let turn = 0; turn < 31; turn += 1) {
        expect(await authenticate(`${host}.example`)).to.equal(401)
      }
    }
    expect([...asked.values()]).to.deep.equal([30, 30, 30, 30, 30])
    expect(await authenticate('good.example')).to.equal(200)
  })
})

describe('private_key_jwt: a host of the deployment’s own network', () => {
  it('is asked without the guard when the configuration names it, and with it otherwise', async () => {
    const key = await makeClientKey()
    const guarded: boolean[] = []
    const plans = { privateKeyJwt: true, privateHosts: ['keys.campus.internal:8443'] }
    await using service = await startService({
      ...withPlans(plans),
      fetch: async (_input, init) => {
        guarded.push(init?.privateAddress !== true)
        return Response.json({ keys: [key.publicJwk] })
      },
    })
    for (const host of ['keys.campus.internal:8443', 'keys.campus.internal']) {
      const jwks_uri = `https://${host}/keys`
      await choose(service, { jwks: null, jwks_uri, auth_method: 'private_key_jwt' })
      const fields = byAssertion(await signAssertion(key, service.url))
      expect((await introspect(service.url, 'x', fields)).status).to.equal(200)
    }
    expect(guarded).to.deep.equal([false, true])
    const person = makePagePerson(service.url, olivia)
    const security = `/admin/northlight/applications/${portal.clientId}/security`
    const send = async (keys: string) =>
      (await person.send(await person.visit(security), security, { keys })).status
    expect(await send('https://keys.campus.internal:8443/keys')).to.equal(200)
    expect(await send('https://keys.campus.internal/keys')).to.equal(422)
  })
})

describe('private_key_jwt: what an operator enters', () => {
  const running = sharedService(on)
  const address = `/admin/northlight/applications/${portal.clientId}`

  it('public keys take the place of the secret, and give it back', async () => {
    const { url } = running()
    const person = makePagePerson(url, olivia)
    const app = await person.visit(address)
    expect(app.text).to.include(`${address}/security`)
    const key = await makeClientKey()
    const saved = await person.send(
      await person.visit(`${address}/security`),
      `${address}/security`,
      { keys: JSON.stringify({ keys: [key.publicJwk] }) },
    )
    expect(saved.text).to.include('private_key_jwt')
    const fields = byAssertion(await signAssertion(key, url))
    expect((await introspect(url, 'x', fields)).status).to.equal(200)
    // What else an operator changes leaves the keys alone.
    const edit = await person.visit(`${address}/edit`)
    const edited = await person.send(edit, `${address}/edit`, {
      name: 'Portal',
      redirect_uris: portal.redirectUri,
      scope: 'account:read',
    })
    expect(edited.text).to.include('private_key_jwt')
    await person.send(await person.visit(`${address}/security`), `${address}/security`, {
      keys: '',
    })
    expect((await introspect(url, 'x', asPortalSecret)).status).to.equal(200)
  })

  const refused: readonly [string, RegExp][] = [
    ['http://client.example/keys', /must begin with https/],
    ['https://127.0.0.1/keys', /public host name/],
    ['https://10.0.0.8/keys', /public host name/],
    ['https://[fd00::1]/keys', /public host name/],
    ['https://keys.internal/keys', /public host name/],
    ['https://me:secret@client.example/keys', /user name/],
    ['nonsense', /complete address/],
    ['{"keys":[]}', /cannot be used/],
    ['{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /cannot be used/],
    [
      '{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}]}',
      /it contains a private key/,
    ],
  ]
  for (const [typed, says] of refused) {
    it(`refuses ${typed.slice(0, 50)}`, async () => {
      const person = makePagePerson(running().url, olivia)
      const form = await person.visit(`${address}/security`)
      const answer = await person.send(form, `${address}/security`, { keys: typed })
      expect(answer.status).to.equal(422)
      expect(answer.text).to.match(says)
    })
  }

  it('a public application is offered no keys', async () => {
    const person = makePagePerson(running().url, olivia)
    const page = await person.visit(`/admin/northlight/applications/${notes.clientId}/security`)
    expect(page.status).to.equal(200)
    expect(page.text).to.not.include('id="keys"')
  })

  it('there is no such page while no plan is on', async () => {
    await using service = await startService()
    const person = makePagePerson(service.url, olivia)
    expect((await person.visit(address)).text).to.not.include('/security')
    expect((await person.visit(`${address}/security`)).status).to.equal(404)
  })

  it('an exchange with the secret works as ever beside the plan', async () => {
    const { url } = running()
    const answer = await exchange(url, await getCode(url, asPortal), {
      ...asPortal,
      client_assertion_type: ASSERTION_TYPE,
    })
    expect(answer.status).to.equal(200)
  })
})

const asPortalSecret = { client_id: portal.clientId, client_secret: portal.clientSecret }
