import { randomUUID } from 'node:crypto'

import { SignJWT, UnsecuredJWT } from 'jose'
import * as oidc from 'openid-client'

import { paths } from '../src/platform/http/paths.ts'
import { asPortal, exchange, getCode, introspect, obtainCode, revoke } from './support/client.ts'
import { editList, insert } from './support/database.ts'
import { documentAnswer, guardedFetch, startDocumentHost } from './support/document-host.ts'
import {
  notes,
  olivia,
  policyWith,
  portal,
  type RunningService,
  resourceServer,
  startService,
} from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import {
  ASSERTION_TYPE,
  byAssertion,
  type ClientKey,
  choose,
  giveKey,
  makeClientKey,
  signAssertion,
  withPlans,
} from './support/proofs.ts'
import { getTokens } from './support/relying-party.ts'
import { serve } from './support/serve.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { type Fields, postForm } from './support/wire.ts'

const on = withPlans({ privateKeyJwt: true })
const withFapi = withPlans({ privateKeyJwt: true, pushedAuthorizationRequests: true })
const key = await makeClientKey()
const asPortalSecret = { client_id: portal.clientId, client_secret: portal.clientSecret }

/** Returns the statuses of a revocation (authenticated by the engine) and an introspection (by our code). */
async function statusesAt(url: string, sign: () => Promise<string>, more: Fields = {}) {
  const revoked = await revoke(url, 'x', { ...byAssertion(await sign()), ...more })
  const introspected = await introspect(url, 'x', { ...byAssertion(await sign()), ...more })
  return [revoked.status, introspected.status]
}

/** Like `statusesAt`, with assertions signed by `key`. */
async function statusesWith(url: string, key: ClientKey, claims = {}, header = {}) {
  return await statusesAt(url, async () => await signAssertion(key, url, claims, header))
}

async function introspectWith(url: string, key: ClientKey): Promise<number> {
  return (await introspect(url, 'x', byAssertion(await signAssertion(key, url)))).status
}

async function chooseAddress(service: RunningService, jwks_uri: string): Promise<void> {
  await choose(service, { jwks: null, jwks_uri, auth_method: 'private_key_jwt' })
}

forEachStorage('private_key_jwt (RFC 7523)', (start) => {
  const running = sharedService(on, start)

  for (const alg of ['ES256', 'PS256', 'EdDSA']) {
    // [OpenID Connect Core §9 (private_key_jwt); RFC 6749 §2.3.2; RFC 9700 §2.5]
    it(`works with ${alg}: exchange, refresh, introspection, revocation`, async () => {
      const service = running()
      const own = await giveKey(service, await makeClientKey(alg))
      const auth = oidc.PrivateKeyJwt({ key: own.privateKey, kid: own.kid })
      const { configuration, tokens } = await getTokens(service.url, { ...portal, auth })
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
  it('accepts an assertion once, at every endpoint and from concurrent requests (RFC 7523 §3)', async () => {
    const service = running()
    await giveKey(service, key)
    for (const endpoint of [introspect, revoke]) {
      const other = endpoint === revoke ? introspect : revoke
      const fields = byAssertion(await signAssertion(key, service.url))
      const attempt = async () => await endpoint(service.url, 'x', fields)
      const answers = await Promise.all(Array.from({ length: 8 }, attempt))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(401)])
      expect((await other(service.url, 'x', fields)).status).to.equal(401)
    }
  })
})

describe('private_key_jwt refuses', () => {
  const running = sharedService(on)
  before(async () => await giveKey(running(), key))
  const statusesOf = async (claims = {}, header = {}, by = key) =>
    await statusesWith(running().url, by, claims, header)

  const now = Math.floor(Date.now() / 1000)
  for (const [what, claims] of [
    ['for another server', { aud: 'https://other.example' }],
    ['without an audience', { aud: undefined }],
    ['of another issuer', { iss: notes.clientId }],
    ['that has expired', { exp: now - 60 }],
    ['without an expiry', { exp: undefined }],
    ['without an id', { jti: undefined }],
    ['with a number as id', { jti: 7 }],
    ['with an object as id', { jti: { id: 7 } }],
    ['with an empty id', { jti: '' }],
  ] as const) {
    it(`an assertion ${what}`, async () => {
      expect(await statusesOf(claims)).to.deep.equal([401, 401])
    })
  }

  // [OpenID Connect Core §9 (private_key_jwt); threat 11; 123]
  it('an unsigned assertion, and one signed with a shared secret or another key', async () => {
    const { url } = running()
    const ids = { iss: portal.clientId, sub: portal.clientId, aud: url }
    const claims = { ...ids, jti: randomUUID(), exp: now + 60 }
    const shared = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(portal.clientSecret))
    const stranger = await signAssertion(await makeClientKey('ES256', key.kid), url)
    for (const assertion of [new UnsecuredJWT(claims).encode(), shared, stranger])
      expect(await statusesAt(url, async () => assertion)).to.deep.equal([401, 401])
  })

  it('an assertion with another client_id, a secret, or another type', async () => {
    const { url } = running()
    const sign = async () => await signAssertion(key, url)
    const [, named] = await statusesAt(url, sign, { client_id: notes.clientId })
    expect(named).to.equal(401)
    const secret = { client_secret: portal.clientSecret }
    for (const more of [secret, { client_assertion_type: 'urn:other' }])
      expect(await statusesAt(url, sign, more)).to.deep.equal([400, 401])
  })

  // [RFC 6749 §2.3.2]
  it('the secret of a client with keys, and an assertion of a client without', async () => {
    const { url } = running()
    expect((await introspect(url, 'x', asPortalSecret)).status).to.equal(401)
    expect((await revoke(url, 'x', asPortalSecret)).status).to.equal(401)
    const ids = { iss: resourceServer.clientId, sub: resourceServer.clientId }
    expect(await statusesOf(ids)).to.deep.equal([401, 401])
  })

  // [143]
  it('another audience than the issuer where the client uses FAPI 2.0 (§5.3.2.1)', async () => {
    await using service = await startService(withFapi)
    const { url } = service
    await giveKey(service, key)
    for (const [demanded, aud, status] of [
      [null, url + paths.token, 200],
      [1, url + paths.token, 401],
      [1, [url], 401],
      [1, url, 200],
    ] as const) {
      await choose(service, { pushed_requests_required_at: demanded })
      expect(await statusesWith(url, key, { aud })).to.deep.equal([status, status])
    }
  })

  it('an audience that names another server too (audience injection, CVE-2025-27370) [143]', async () => {
    const { url } = running()
    const ours = [url, url + paths.token]
    expect(await statusesOf({ aud: ours })).to.deep.equal([200, 200])
    for (const others of [
      [url, 'https://other.example'],
      ['https://other.example', url + paths.token],
      [`${url}/`, url],
      [],
    ])
      expect(await statusesOf({ aud: others }), others.join(' ')).to.deep.equal([401, 401])
  })

  it('an assertion issued in the future, which could be accepted again after a store forgets it [162]', async () => {
    await using service = await startService(withFapi)
    await giveKey(service, key)
    const statuses = async (aheadSeconds: number) => {
      const iat = Math.floor(Date.now() / 1000) + aheadSeconds
      return await statusesWith(service.url, key, { iat, exp: iat + 60 })
    }
    expect(await statuses(3600), 'an hour').to.deep.equal([401, 401])
    expect(await statuses(280), 'a clock that is off').to.deep.equal([200, 200])
    // FAPI 2.0 Security Profile §5.3.2.1: accept `iat` up to 10 seconds ahead, refuse more than 60.
    await choose(service, { pushed_requests_required_at: 1 })
    expect(await statuses(90), 'FAPI').to.deep.equal([401, 401])
    expect(await statuses(10), 'FAPI').to.deep.equal([200, 200])
  })

  it('an assertion with its own key or an unknown critical header (CVE-2025-59420) [168]', async () => {
    const stranger = await makeClientKey('ES256', key.kid)
    const asked: string[] = []
    await using host = await serve((request, response) => {
      asked.push(String(request.url))
      response.end(JSON.stringify({ keys: [stranger.publicJwk] }))
    })
    const address = `${host.url}/keys`
    for (const [by, header] of [
      [stranger, { jwk: stranger.publicJwk }],
      [stranger, { jku: address }],
      [stranger, { x5u: address, x5c: ['AAAA'] }],
      [key, { crit: ['unheard'], unheard: true }],
    ] as const) {
      const statuses = await statusesOf({}, header, by)
      expect(statuses, JSON.stringify(header)).to.deep.equal([401, 401])
    }
    expect(asked, 'nothing is fetched').to.deep.equal([])
    expect(await statusesOf()).to.deep.equal([200, 200])
  })

  it('a subject that is not a string [155]', async () => {
    for (const sub of [7, {}, [portal.clientId], null, true])
      expect(await statusesOf({ sub }), String(sub)).to.deep.equal([401, 401])
  })

  it('no valid assertion because of a malformed DPoP header [145]', async () => {
    for (const proof of ['x', `${btoa('{}')}.x.y`, '\u00e4.\u00e4']) {
      const form = { token: 'x', ...byAssertion(await signAssertion(key, running().url)) }
      const revoked = await postForm(running().url + paths.revocation, form, ['DPoP', proof])
      expect(revoked.status, proof).to.equal(200)
    }
  })
})

describe('private_key_jwt with keys at an address', () => {
  // [125]
  it('fetches them once for all endpoints, limits their size and does not follow redirects', async () => {
    await using host = await startDocumentHost()
    await using service = await startService({ ...on, fetch: host.fetch })
    const { url } = service
    const keys = documentAnswer({ keys: [key.publicJwk] }, { 'cache-control': 'max-age=300' })
    host.serve((request, response) => {
      if (request.url === '/keys.json') keys(request, response)
      else response.writeHead(302, { location: 'https://client.example/keys.json' }).end()
    })
    await chooseAddress(service, 'https://client.example/keys.json')
    for (const _ of ['first', 'second'])
      expect(await statusesWith(url, key)).to.deep.equal([200, 200])
    await chooseAddress(service, 'https://client.example/other.json')
    expect(await introspectWith(url, key)).to.equal(401)
    expect(host.requests).to.deep.equal(['client.example/keys.json', 'client.example/other.json'])
    host.serve({ keys: [key.publicJwk], padding: 'x'.repeat(100_000) })
    await chooseAddress(service, 'https://client.example/large.json')
    expect(await introspectWith(url, key)).to.equal(401)
  })

  // [Client ID Metadata Document §6.2; OpenID Connect Core §9 (private_key_jwt); 382]
  it('authenticates clients with a metadata document, and one with both methods either way (SEP-3149)', async () => {
    await using host = await startDocumentHost()
    const metadataDocuments = { sources: ['client.example'] }
    const policy = policyWith({ furtherPlans: { privateKeyJwt: true }, metadataDocuments })
    const clock = { ms: Date.now() }
    await using service = await startService({ policy, fetch: host.fetch, now: () => clock.ms })
    const id = 'https://client.example/client.json'
    const [own, other] = [await makeClientKey('RS256'), await makeClientKey('RS256')]
    const redirectUri = 'https://client.example/callback'
    const document = {
      ...{ client_id: id, client_name: 'A client', redirect_uris: [redirectUri] },
      jwks_uri: 'https://client.example/keys.json',
      token_endpoint_auth_signing_alg: 'RS256',
    }
    const serve = (methods: string[]) =>
      host.serve((request, response) => {
        const keys = { keys: [own.publicJwk] }
        const offered = { ...document, token_endpoint_auth_methods_supported: methods }
        documentAnswer(request.url === '/keys.json' ? keys : offered)(request, response)
      })
    const statusOf = async (how: Fields) => {
      const asking = { client_id: id, redirect_uri: redirectUri, scope: 'openid' }
      const { code, form } = await obtainCode(service.url, asking, olivia)
      return (await exchange(service.url, code, { ...form, ...how })).status
    }
    const signed = async (by: ClientKey) =>
      byAssertion(await signAssertion(by, service.url, { iss: id, sub: id }))
    const statuses = async () => [
      await statusOf(await signed(own)),
      await statusOf(await signed(other)),
      await statusOf({}),
    ]
    serve(['private_key_jwt'])
    expect(await statuses()).to.deep.equal([200, 401, 401])
    clock.ms += 61_000
    serve(['none', 'private_key_jwt'])
    expect(await statuses()).to.deep.equal([200, 401, 200])
  })

  it('fetches nothing from a private address [125]', async () => {
    const { fetch, failures } = guardedFetch()
    await using service = await startService({ ...on, fetch })
    for (const host of ['127.0.0.1:1', 'localhost:1', '[::1]:1']) {
      await chooseAddress(service, `https://${host}/keys`)
      expect(await statusesWith(service.url, key), host).to.deep.equal([401, 401])
    }
    expect(failures).to.have.length.above(0)
  })

  it('limits failing hosts one by one, so that no client locks out another [161]', async () => {
    const asked: string[] = []
    await using service = await startService({
      ...on,
      fetch: async (input) => {
        const { host } = new URL(String(input))
        asked.push(host)
        if (host === 'good.example') return Response.json({ keys: [key.publicJwk] })
        throw new Error('the host is down')
      },
    })
    for (const host of ['a', 'b', 'c', 'd', 'e']) {
      await chooseAddress(service, `https://${host}.example/keys`)
      for (let turn = 0; turn < 31; turn += 1)
        expect(await introspectWith(service.url, key)).to.equal(401)
      expect(asked.splice(0)).to.deep.equal(Array(30).fill(`${host}.example`))
    }
    await chooseAddress(service, 'https://good.example/keys')
    expect(await introspectWith(service.url, key)).to.equal(200)
  })

  it('keeps unapproved metadata documents from blocking the keys of other clients [458]', async () => {
    const waiting = Promise.withResolvers<Response>()
    const asked = new Set<string>()
    const metadataDocuments = { openRegistration: true }
    await using service = await startService({
      policy: policyWith({ furtherPlans: { privateKeyJwt: true }, metadataDocuments }),
      fetch: async (input) => {
        const { host } = new URL(String(input))
        asked.add(host)
        if (host === 'good.example') return Response.json({ keys: [key.publicJwk] })
        return await waiting.promise
      },
    })
    const hosts = Array.from({ length: 64 }, (_, index) => `https://host-${index}.example`)
    const attempts = hosts.map(async (host) => {
      const client_id = `${host}/client.json`
      const document = JSON.stringify({
        ...{ name: 'A stranger', redirectUris: [`${host}/callback`], applicationType: 'web' },
        ...{ grantTypes: ['authorization_code'], authMethods: ['private_key_jwt'] },
        keys: { jwksUri: `${host}/keys` },
      })
      const times = { first_seen_at: 1, fetched_at: Date.now(), fresh_until: Date.now() + 60_000 }
      const row = { client_id, document, fingerprint: 'x', ...times }
      await insert(service.kysely, 'document_client', row)
      const assertion = await signAssertion(key, service.url, { iss: client_id, sub: client_id })
      return await introspect(service.url, 'x', byAssertion(assertion))
    })
    await eventually(10_000, async () => expect(asked.size).to.equal(hosts.length))
    await chooseAddress(service, 'https://good.example/keys')
    expect(await introspectWith(service.url, key)).to.equal(200)
    waiting.resolve(new Response(null, { status: 500 }))
    for (const { status } of await Promise.all(attempts)) expect(status).to.equal(401)
  })

  it('skips the guard only for hosts of privateHosts', async () => {
    const guarded: boolean[] = []
    await using service = await startService({
      ...withPlans({ privateKeyJwt: true, privateHosts: ['keys.campus.internal:8443'] }),
      fetch: async (_input, init) => {
        guarded.push(init?.privateAddress !== true)
        return Response.json({ keys: [key.publicJwk] })
      },
    })
    const person = makePagePerson(service.url, olivia)
    const security = `/admin/northlight/applications/${portal.clientId}/security`
    const statuses = { 'keys.campus.internal:8443': 200, 'keys.campus.internal': 422 }
    for (const [host, status] of Object.entries(statuses)) {
      const keys = `https://${host}/keys`
      await chooseAddress(service, keys)
      expect(await introspectWith(service.url, key)).to.equal(200)
      expect((await person.submit(security, { keys })).status).to.equal(status)
    }
    expect(guarded).to.deep.equal([false, true])
  })
})

describe('private_key_jwt on the pages of an operator', () => {
  const running = sharedService(on)
  const person = makePagePerson(() => running().url, olivia)
  const address = `/admin/northlight/applications/${portal.clientId}`
  const security = `${address}/security`

  it('replaces the secret of a confidential application with public keys, and restores it', async () => {
    const { url } = running()
    expect((await person.visit(address)).text).to.include(security)
    const ofPublic = await person.visit(`/admin/northlight/applications/${notes.clientId}/security`)
    expect([ofPublic.status, ofPublic.text.includes('id="keys"')]).to.deep.equal([200, false])
    const saved = await person.submit(security, { keys: JSON.stringify({ keys: [key.publicJwk] }) })
    expect(saved.text).to.include('private_key_jwt')
    expect(await introspectWith(url, key)).to.equal(200)
    const changes = { name: 'Portal', redirect_uris: portal.redirectUri, scope: 'account:read' }
    expect((await person.submit(`${address}/edit`, changes)).text).to.include('private_key_jwt')
    await person.submit(security, { keys: '' })
    expect((await introspect(url, 'x', asPortalSecret)).status).to.equal(200)
  })

  for (const [keys, says] of [
    ['http://client.example/keys', /must begin with <code>https/],
    ['https://127.0.0.1/keys', /public host name/],
    ['https://[fd00::1]/keys', /public host name/],
    ['https://keys.internal/keys', /public host name/],
    ['https://me:secret@client.example/keys', /user name/],
    ['https://portal.example:8787/keys', /port must be 443/],
    ['nonsense', /complete URL/],
    ['{"kty":"OKP","crv":"Ed25519","x":"abc"}', /it has no list .*keys.*; wrap a single key/],
    ['{"keys":[]}', /its list .*keys.* is empty/],
    [`{"keys":[{}${',{}'.repeat(10)}]}`, /it has more than 10 keys/],
    ['{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /cannot be used/],
    ['{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}]}', /contains a private key/],
  ] as const) {
    it(`refuses ${keys.slice(0, 50)}`, async () => {
      const answer = await person.submit(security, { keys })
      expect(answer.status).to.equal(422)
      expect(answer.text).to.match(says)
    })
  }

  it('accepts keys at another port if a callback has the same host and port [214]', async () => {
    const uri = 'https://portal.example:2222/callback'
    await using own = await startService(on)
    await editList(own.kysely, portal.clientId, 'redirect_uris', (uris) => [...uris, uri])
    const person = makePagePerson(own.url, olivia)
    for (const [host, status] of Object.entries({ 'client.example': 422, 'portal.example': 200 })) {
      const answer = await person.submit(security, { keys: `https://${host}:2222/keys` })
      expect(answer.status, host).to.equal(status)
    }
  })

  it('has no page for keys while the plan is off, and assertions are rejected', async () => {
    await using service = await startService()
    await giveKey(service, key)
    expect(await introspectWith(service.url, key)).to.equal(401)
    const person = makePagePerson(service.url, olivia)
    expect((await person.visit(address)).text).to.not.include('/security')
    expect((await person.visit(security)).status).to.equal(404)
  })

  it('leaves the exchange with a secret as it was', async () => {
    const { url } = running()
    const fields = { ...asPortal, client_assertion_type: ASSERTION_TYPE }
    expect((await exchange(url, await getCode(url, asPortal), fields)).status).to.equal(200)
  })
})
