import * as oidc from 'openid-client'

import { type Answers, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { notes, sam } from './gatehouse.ts'

/** The options of a sign-in. By default, Sam signs in to the demo's public member application. */
export interface Asking {
  readonly clientId?: string
  readonly clientSecret?: string
  readonly redirectUri?: string
  readonly scope?: string
  /** False omits `resource`. */
  readonly resource?: string | false
  readonly person?: Answers
  readonly parameters?: Record<string, string>
  /** How a confidential client authenticates; by default, with `client_secret_post`. */
  readonly auth?: oidc.ClientAuth
  /** Whether to push the authorization request (RFC 9126). */
  readonly pushed?: boolean
  /** Whether to bind the tokens to a key (RFC 9449). */
  readonly bound?: boolean
}

export const MEMBER_SCOPE = 'openid profile email account:read'

/** Signs in with openid-client, an independent, certified relying party that validates our responses. */
export async function signIn(url: string, asking: Asking = {}) {
  const { clientId, redirectUri, clientSecret, resource } = { ...notes, resource: url, ...asking }
  const configuration = await oidc.discovery(
    new URL(url),
    clientId,
    clientSecret,
    asking.auth ?? (clientSecret ? oidc.ClientSecretPost(clientSecret) : oidc.None()),
    { execute: [oidc.allowInsecureRequests] },
  )
  const options: oidc.DPoPOptions = {}
  if (asking.bound) {
    options.DPoP = oidc.getDPoPHandle(configuration, await oidc.randomDPoPKeyPair('ES256'))
  }
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
  const expectedNonce = oidc.randomNonce()
  const expectedState = oidc.randomState()
  const request: Record<string, string> = {
    redirect_uri: redirectUri,
    scope: asking.scope ?? MEMBER_SCOPE,
    ...(resource !== false && { resource }),
    nonce: expectedNonce,
    state: expectedState,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...asking.parameters,
  }
  const start = asking.pushed
    ? await oidc.buildAuthorizationUrlWithPAR(configuration, request, options)
    : oidc.buildAuthorizationUrl(configuration, request)
  const person = makeHeadlessPerson(asking.person ?? sam)
  const callback = await person.authorize(start, redirectUri)
  const checks = { pkceCodeVerifier, expectedNonce, expectedState }
  const parameters = resource !== false ? { resource } : {}
  const exchange = async () =>
    await oidc.authorizationCodeGrant(configuration, callback, checks, parameters, options)
  return { configuration, person, start, callback, options, exchange }
}

export async function getTokens(url: string, asking: Asking = {}) {
  const signedIn = await signIn(url, asking)
  return { ...signedIn, tokens: await signedIn.exchange() }
}
