import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { expect } from 'chai'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oidc from 'openid-client'

import { paths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { asPortal, authorizeUrl, locationOf } from './support/client.ts'
import { startDocumentHost } from './support/document-host.ts'
import { notes, olivia, portal, type RunningService, sam } from './support/gatehouse.ts'
import { messageOf } from './support/mcp.ts'
import { makePagePerson } from './support/page-person.ts'
import {
  type ClientKey,
  choose,
  everyPlan,
  giveKeys,
  makeClientKey,
  withPlans,
} from './support/proofs.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { requireProgram } from './support/skipped.ts'
import { forEachStorage } from './support/storages.ts'
import { get } from './support/wire.ts'

const logoutUri = 'https://client.example/backchannel-logout'

/**
 * The FAPI 2.0 Security Profile as one client walks it that an operator configured as
 * docs/how-to/connect-an-application.md and operate.md say, with nothing but openid-client.
 */
forEachStorage('FAPI 2.0 Security Profile', (start) => {
  let openssl = ''
  before(function () {
    openssl = requireProgram(this, 'openssl')
  })

  async function walking(use: (walk: Walk) => Promise<void>) {
    await using host = await startDocumentHost(openssl)
    const tokens: string[] = []
    host.serve(async (request: IncomingMessage, response) => {
      tokens.push(new URLSearchParams(await text(request)).get('logout_token') ?? '')
      response.writeHead(200).end()
    })
    await using service = await start({ ...withPlans(everyPlan), fetch: host.fetch })
    const key = await makeClientKey('PS256')
    await giveKeys(service, [key])
    await choose(service, {
      pushed_requests_required_at: 1,
      bound_tokens_required_at: 1,
      backchannel_logout_uri: logoutUri,
      backchannel_logout_session_required_at: 1,
    })
    await use({ service, key, tokens })
  }

  it('stands in the settings that its operator hands over', async () => {
    await walking(async ({ service: { url } }) => {
      const person = makePagePerson(url, olivia)
      const pageOf = async ({ clientId }: { readonly clientId: string }) =>
        (await person.visit(`/admin/northlight/applications/${clientId}`)).text
      expect(await pageOf(portal))
        .to.match(/Pushed requests \(PAR\)<\/dt><dd>required, to <code>http[^<]+\/api\/oauth\/par</)
        .and.include('Bound tokens (DPoP)')
      expect(await pageOf(notes))
        .to.not.include('(PAR)')
        .and.not.include('(DPoP)')
    })
  })

  it('is walked from the pushed request to the notice of the sign-out', async () => {
    await walking(async ({ service, key, tokens: notices }) => {
      const { url } = service
      const configuration = await discoverStrict(url, key)
      const metadata = configuration.serverMetadata()
      expect(metadata.pushed_authorization_request_endpoint).to.be.a('string')
      expect(metadata.dpop_signing_alg_values_supported).to.include('PS256')
      expect(metadata.authorization_response_iss_parameter_supported).to.equal(true)
      const DPoP = oidc.getDPoPHandle(configuration, await oidc.randomDPoPKeyPair('ES256'))
      const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
      const [expectedState, expectedNonce] = [oidc.randomState(), oidc.randomNonce()]
      const address = await oidc.buildAuthorizationUrlWithPAR(
        configuration,
        {
          ...{ redirect_uri: portal.redirectUri, scope: MEMBER_SCOPE, resource: url },
          ...{ state: expectedState, nonce: expectedNonce },
          code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
          code_challenge_method: 'S256',
        },
        { DPoP },
      )
      const person = makeHeadlessPerson(sam)
      const callback = await person.authorize(address, portal.redirectUri)
      expect(callback.searchParams.get('iss')).to.equal(url)
      const tokens = await oidc.authorizationCodeGrant(
        configuration,
        callback,
        { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true },
        { resource: url },
        { DPoP },
      )
      expect(tokens.token_type).to.equal('dpop')
      const sid = tokens.claims()?.['sid']
      const refreshed = await oidc.refreshTokenGrant(
        configuration,
        tokens.refresh_token ?? '',
        { resource: url },
        { DPoP },
      )
      expect(refreshed.refresh_token).to.equal(tokens.refresh_token)
      for (const token of [tokens.access_token, refreshed.access_token]) {
        await useEverywhere(configuration, { token, url, DPoP })
      }

      await signOut(url, person, tokens.id_token ?? '')
      for (let time = 0; time < 200 && notices.length === 0; time += 1) await delay(50)
      const { payload } = await jwtVerify(
        notices[0] ?? '',
        createRemoteJWKSet(new URL(metadata.jwks_uri ?? '')),
        { issuer: url, audience: portal.clientId, typ: 'logout+jwt', algorithms: ['ES256'] },
      )
      expect(payload).to.include({ sub: 'per_sam', sid })

      await oidc.tokenRevocation(configuration, refreshed.refresh_token ?? '')
      const later = await oidc.tokenIntrospection(configuration, refreshed.access_token)
      expect(later).to.deep.equal({ active: false })
    })
  })

  it('refuses what the profile forbids', async () => {
    await walking(async ({ service, key }) => {
      const { url } = service
      // §5.3.2.2: only what was pushed.
      const plain = locationOf(await get(authorizeUrl(url, asPortal).href))
      expect(plain.searchParams.get('error')).to.equal('invalid_request')
      const configuration = await discoverStrict(url, key)
      const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
      const request = {
        ...{ redirect_uri: portal.redirectUri, scope: 'openid', state: oidc.randomState() },
        code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      }
      // Only with PKCE, and only by the key.
      const { code_challenge, code_challenge_method, ...bare } = request
      expect(await refusalOf(oidc.buildAuthorizationUrlWithPAR(configuration, bare))).to.equal(
        'invalid_request',
      )
      const bySecret = await oidc.discovery(
        ...([new URL(url), portal.clientId, portal.clientSecret] as const),
        oidc.ClientSecretPost(portal.clientSecret),
        { execute: [oidc.allowInsecureRequests] },
      )
      expect(await refusalOf(oidc.buildAuthorizationUrlWithPAR(bySecret, request))).to.equal(
        'invalid_client',
      )
      // Only with a proof of a key.
      const address = await oidc.buildAuthorizationUrlWithPAR(configuration, request)
      const callback = await makeHeadlessPerson(sam).authorize(address, portal.redirectUri)
      const exchange = oidc.authorizationCodeGrant(configuration, callback, {
        pkceCodeVerifier,
        expectedState: request.state,
      })
      expect(await refusalOf(exchange)).to.equal('invalid_grant')
    })
  })
})

interface Walk {
  readonly service: RunningService
  readonly key: ClientKey
  /** The logout tokens that the application was posted. */
  readonly tokens: string[]
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const { message } = messageOf('tools/list', '2025-11-25', {})
const surfaces = [
  { path: paths.graphql, body: '{"query":"{ viewer { id } }"}' },
  { path: paths.mcp, body: JSON.stringify(message) },
  { path: paths.mcpMember, body: JSON.stringify(message) },
]

interface Using {
  readonly token: string
  readonly url: string
  readonly DPoP: oidc.DPoPHandle
}

/** Every surface takes the token with its proof. */
async function useEverywhere(configuration: oidc.Configuration, { token, url, DPoP }: Using) {
  const seen = await oidc.fetchUserInfo(configuration, token, 'per_sam', { DPoP })
  expect(seen.sub).to.equal('per_sam')
  for (const { path, body } of surfaces) {
    const headers = new Headers(json)
    const answer = await oidc.fetchProtectedResource(
      ...([configuration, token, new URL(url + path), 'POST', body, headers, { DPoP }] as const),
    )
    expect(answer.status, path).to.equal(200)
  }
  const found = await oidc.tokenIntrospection(configuration, token)
  expect(found).to.include({ active: true, token_type: 'DPoP' })
}

async function discoverStrict(url: string, key: ClientKey) {
  return await oidc.discovery(
    new URL(url),
    portal.clientId,
    undefined,
    oidc.PrivateKeyJwt({ key: key.privateKey, kid: key.kid }),
    { execute: [oidc.allowInsecureRequests] },
  )
}

async function signOut(
  url: string,
  person: ReturnType<typeof makeHeadlessPerson>,
  idToken: string,
) {
  const asked = new URL(
    `${paths.endSession}?${new URLSearchParams({ id_token_hint: idToken })}`,
    url,
  )
  const page = await (await person.open(asked)).text()
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  await person.open(new URL(`${paths.endSession}/confirm`, url), {
    method: 'POST',
    body: new URLSearchParams({ xsrf, logout: 'yes' }),
  })
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    if (error instanceof oidc.ResponseBodyError) return error.error
    if (error instanceof oidc.WWWAuthenticateChallengeError) return 'invalid_client'
    throw error
  }
  return 'nothing'
}
