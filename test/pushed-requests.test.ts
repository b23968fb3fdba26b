import { expect } from 'chai'
import * as oidc from 'openid-client'

import { paths, planPaths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asPortal,
  authorizeUrl,
  codeChallenge,
  codeVerifier,
  exchange,
  locationOf,
} from './support/client.ts'
import { notes, portal, sam, startService } from './support/gatehouse.ts'
import { type ClientKey, choose, makeClientKey, signProof, withPlans } from './support/proofs.ts'
import { discover, MEMBER_SCOPE } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage } from './support/storages.ts'
import { encode, type Fields, get, postForm } from './support/wire.ts'

const on = withPlans({ pushedAuthorizationRequests: true })

/** Pushes what the tests' client would send a browser with. */
async function push(url: string, fields: Fields = {}) {
  const { searchParams } = authorizeUrl(url, { ...asPortal, ...fields })
  return await postForm(url + planPaths.pushedAuthorization, Object.fromEntries(searchParams))
}

/** The address that a browser is sent to after that. */
function pushedUrl(url: string, requestUri: string, clientId: string = portal.clientId): URL {
  return new URL(
    `${paths.authorization}?${encode({ client_id: clientId, request_uri: requestUri })}`,
    url,
  )
}

forEachStorage('pushed authorization requests (RFC 9126)', (start) => {
  const running = sharedService(on, start)

  // [RFC 9126 §2; RFC 9126 §2.2]
  it('openid-client pushes a request, and the rest goes as ever', async () => {
    const { url } = running()
    const configuration = await discover(url, portal)
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
    const expectedState = oidc.randomState()
    const address = await oidc.buildAuthorizationUrlWithPAR(configuration, {
      redirect_uri: portal.redirectUri,
      scope: MEMBER_SCOPE,
      resource: `${url}${paths.graphql}`,
      state: expectedState,
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    expect([...address.searchParams.keys()].sort()).to.deep.equal(['client_id', 'request_uri'])
    const callback = await makeHeadlessPerson(sam).authorize(address, portal.redirectUri)
    const tokens = await oidc.authorizationCodeGrant(
      configuration,
      callback,
      { pkceCodeVerifier, expectedState },
      { resource: url },
    )
    expect(tokens.scope).to.equal(MEMBER_SCOPE)
    const found = await oidc.tokenIntrospection(configuration, tokens.access_token)
    expect(found).to.include({ active: true, aud: url })
  })

  // [RFC 9126 §4; RFC 9126 §7.3; 133]
  it('a pushed request leads to one answer, also of several at the same time (§4)', async () => {
    const { url } = running()
    const { body } = await push(url)
    expect(body.expires_in).to.equal(60)
    const address = pushedUrl(url, body.request_uri)
    const person = makeHeadlessPerson(sam)
    await person.authorize(authorizeUrl(url, asPortal), portal.redirectUri)
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => locationOf(await asAnswer(person.open(address)))),
    )
    const codes = answers.filter(({ searchParams }) => searchParams.has('code'))
    expect(codes).to.have.lengthOf(1)
    const later = await get(address.href)
    expect(later.status).to.equal(400)
  })

  // [RFC 9126 §2.2; RFC 9126 §7.1; threat 2; 133]
  it('the request of one client is of no use to another (§2.2)', async () => {
    const { url } = running()
    const { body } = await push(url)
    const answer = await get(pushedUrl(url, body.request_uri, notes.clientId).href)
    expect(answer.headers.get('location') ?? '').to.not.include('code=')
    expect(answer.status).to.equal(400)
  })
})

describe('pushed authorization requests: how often, and how long', () => {
  it('one too many is refused before anything of it is read, and one too long after that', async () => {
    await using service = await startService({
      policy: (policy) => {
        const { furtherPlans, limits } = policy
        return {
          ...policy,
          furtherPlans: { ...furtherPlans, pushedAuthorizationRequests: true },
          limits: { ...limits, authorizationKilobytesPerAddressMax: 6 },
        }
      },
    })
    const tooLong = { state: 'x'.repeat(4097) }
    const { status, body } = await push(service.url, tooLong)
    expect([status, body.error]).to.deep.equal([400, 'invalid_request'])
    expect(body.error_description).to.include('the parameter state has 4097 bytes')
    // Five kilobytes were counted of that one, and one of the next.
    expect((await push(service.url)).status).to.equal(201)
    const refused = await push(service.url, tooLong)
    expect([refused.status, refused.body.error]).to.deep.equal([429, 'too_many_requests'])
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/)
  })
})

describe('pushed authorization requests: with a key', () => {
  const running = sharedService(
    withPlans({ pushedAuthorizationRequests: true, dpop: true, privateKeyJwt: false }),
  )

  const pushWithProof = async (fields: Fields, key?: ClientKey) => {
    const { url } = running()
    const address = url + planPaths.pushedAuthorization
    const { searchParams } = authorizeUrl(url, { ...asPortal, ...fields })
    const response = await fetch(address, {
      method: 'POST',
      headers: key ? { dpop: await signProof(key, { htm: 'POST', htu: address }) } : {},
      body: searchParams,
    })
    const { request_uri, error } = (await response.json()) as Record<string, string>
    return { requestUri: request_uri ?? '', error }
  }

  const exchangeWith = async (requestUri: string, key: ClientKey) => {
    const { url } = running()
    const address = pushedUrl(url, requestUri)
    const callback = await makeHeadlessPerson(sam).authorize(address, portal.redirectUri)
    const response = await fetch(url + paths.token, {
      method: 'POST',
      headers: { dpop: await signProof(key, { htm: 'POST', htu: url + paths.token }) },
      body: new URLSearchParams({
        ...{ grant_type: 'authorization_code', code: callback.searchParams.get('code') ?? '' },
        ...{ redirect_uri: portal.redirectUri, code_verifier: codeVerifier, resource: url },
        ...{ client_id: portal.clientId, client_secret: portal.clientSecret },
      }),
    })
    return response.status
  }

  // [RFC 9449 §10.1]
  it('the code is bound to the key that the request names, or proves, and to one only (§10.1)', async () => {
    const [key, other] = [await makeClientKey(), await makeClientKey()]
    const named = { dpop_jkt: key.thumbprint }
    for (const [fields, prover] of [
      [named, undefined],
      [{}, key],
      [named, key],
    ] as const) {
      for (const [exchanger, status] of [
        [other, 400],
        [key, 200],
      ] as const) {
        const { requestUri } = await pushWithProof(fields, prover)
        expect(await exchangeWith(requestUri, exchanger)).to.equal(status)
      }
    }
    expect((await pushWithProof(named, other)).error).to.equal('invalid_request')
  })
})

/** A page of the platform's fetch in the shape of the wire. */
async function asAnswer(response: Promise<Response>) {
  const { status, headers } = await response
  return { status, headers, text: '', body: undefined }
}

describe('pushed authorization requests: what is refused', () => {
  const running = sharedService(on)

  const refused: readonly [string, Fields, number, string][] = [
    ['without the secret of the client', { client_secret: undefined }, 401, 'invalid_client'],
    ['with a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
    [
      'to an address that is not registered',
      { redirect_uri: 'https://evil.example/' },
      400,
      'invalid_request',
    ],
    [
      'without PKCE',
      { code_challenge: undefined, code_challenge_method: undefined },
      400,
      'invalid_request',
    ],
    ['with a plain challenge', { code_challenge_method: 'plain' }, 400, 'invalid_request'],
    ['with member scopes and no resource', { resource: undefined }, 400, 'invalid_target'],
    ['for a foreign resource', { resource: 'https://other.example' }, 400, 'invalid_target'],
    ['for a scope of operators', { scope: 'openid courses:read' }, 400, 'invalid_scope'],
    [
      'that names a pushed one',
      { request_uri: 'urn:ietf:params:oauth:request_uri:x' },
      400,
      'request_uri_not_supported',
    ],
    ['with a request object', { request: 'e30.e30.' }, 400, 'request_not_supported'],
  ]
  for (const [what, fields, status, error] of refused) {
    // [RFC 9126 §2.1; RFC 9126 §2.3; RFC 9126 §7.2]
    it(`a request ${what}`, async () => {
      const answer = await push(running().url, fields)
      expect([answer.status, answer.body.error]).to.deep.equal([status, error])
    })
  }

  it('says in the same words as the authorization endpoint which scopes there are', async () => {
    const { body } = await push(running().url, { scope: 'openid courses:read' })
    expect(body.error_description).to.include('this application cannot request')
  })

  it('a pushed request that nobody pushed, or another address', async () => {
    const { url } = running()
    for (const name of [
      'urn:ietf:params:oauth:request_uri:nobody',
      'https://client.example/request.jwt',
      'http://127.0.0.1:1/request.jwt',
    ]) {
      const answer = await get(pushedUrl(url, name).href)
      expect(answer.status, name).to.equal(400)
      expect(answer.headers.has('location')).to.equal(false)
    }
  })

  // [RFC 9126 §4]
  it('parameters beside a pushed request change nothing of it (§4)', async () => {
    const { url } = running()
    const { body } = await push(url, { scope: 'openid' })
    const address = pushedUrl(url, body.request_uri)
    for (const [name, value] of Object.entries({
      scope: MEMBER_SCOPE,
      state: 'other',
      redirect_uri: 'https://evil.example/',
    })) {
      address.searchParams.set(name, value)
    }
    const callback = await makeHeadlessPerson(sam).authorize(address, portal.redirectUri)
    expect(callback.searchParams.get('state')).to.equal('the-state')
    const tokens = await exchange(url, callback.searchParams.get('code') ?? '', asPortal)
    expect(tokens.body.scope).to.equal('openid')
  })

  // [RFC 9126 §2.2]
  it('is over after a minute', async () => {
    await using service = await startService(on)
    const { body } = await push(service.url)
    const { kysely } = service.service.stores.database
    const [record] = await kysely
      .selectFrom('oauth_state')
      .selectAll()
      .where('model', '=', 'PushedAuthorizationRequest')
      .execute()
    expect(record?.expires_at).to.be.within(Date.now() + 50_000, Date.now() + 60_000)
    expect(body.request_uri).to.not.include(record?.id)
    await kysely.updateTable('oauth_state').set({ expires_at: 1 }).execute()
    const answer = await get(pushedUrl(service.url, body.request_uri).href)
    expect(answer.status).to.equal(400)
  })

  // [RFC 9126 §4; RFC 9126 §7.4]
  it('what the client may no longer do when the request is used (§7.4)', async () => {
    await using service = await startService(on)
    const { url } = service
    const { kysely } = service.service.stores.database
    const pushed = [(await push(url)).body, (await push(url)).body]
    const use = async (change: () => Promise<unknown>) => {
      await change()
      return await get(pushedUrl(url, pushed.pop()?.request_uri).href)
    }
    const scope = await use(async () => {
      await kysely
        .deleteFrom('oauth_application_scope')
        .where('client_id', '=', portal.clientId)
        .where('scope', '=', 'account:read')
        .execute()
    })
    expect(locationOf(scope).searchParams.get('error')).to.equal('invalid_scope')
    const address = await use(async () => {
      await kysely
        .deleteFrom('oauth_application_redirect_uri')
        .where('client_id', '=', portal.clientId)
        .where('uri', '=', portal.redirectUri)
        .execute()
    })
    expect([address.status, address.headers.get('location')]).to.deep.equal([400, null])
  })

  // [RFC 9126 §6]
  it('while an application demands it, a request that was not pushed (§6)', async () => {
    await using service = await startService(on)
    await choose(service, { pushed_requests_required_at: 1 })
    const plain = await get(authorizeUrl(service.url, asPortal).href)
    expect(locationOf(plain).searchParams.get('error')).to.equal('invalid_request')
    const signedIn = await push(service.url)
    const person = makeHeadlessPerson(sam)
    await person.authorize(pushedUrl(service.url, signedIn.body.request_uri), portal.redirectUri)
    // The link to another account cannot repeat what was pushed: it leads to the sign-out.
    const { body } = await push(service.url, { prompt: 'consent' })
    const asked = await person.open(pushedUrl(service.url, body.request_uri))
    const consent = new URL(asked.headers.get('location') ?? '', service.url)
    expect(await (await person.open(consent)).text()).to.include(`href="${paths.endSession}"`)
  })

  it('nothing is pushed while the plan is off, and an application that demands it is off', async () => {
    await using service = await startService()
    const metadata = (await (await fetch(service.url + paths.authorizationServer)).json()) as object
    expect(metadata).to.not.have.property('pushed_authorization_request_endpoint')
    expect((await push(service.url)).status).to.equal(404)
    await choose(service, { pushed_requests_required_at: 1 })
    const plain = locationOf(await get(authorizeUrl(service.url, asPortal).href))
    expect(plain.searchParams.get('error')).to.equal('unauthorized_client')
  })

  it('the address has one spelling', async () => {
    const { url } = running()
    const body = { client_id: notes.clientId, code_challenge: codeChallenge }
    for (const path of ['/API/oauth/par', '/api/oauth/par/']) {
      expect((await postForm(url + path, body)).status).to.equal(404)
    }
  })
})
