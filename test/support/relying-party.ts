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
}

export const MEMBER_SCOPE = 'openid profile email account:read'

/** Signs in with openid-client, an independent, certified relying party that validates our responses. */
export async function signIn(url: string, asking: Asking = {}) {
  const { redirectUri = notes.redirectUri, resource = url } = asking
  const configuration = await discover(url, asking)
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
  const expectedNonce = oidc.randomNonce()
  const expectedState = oidc.randomState()
  const start = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: asking.scope ?? MEMBER_SCOPE,
    ...(resource !== false && { resource }),
    nonce: expectedNonce,
    state: expectedState,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...asking.parameters,
  })
  const person = makeHeadlessPerson(asking.person ?? sam)
  const callback = await person.authorize(start, redirectUri)
  const checks = { pkceCodeVerifier, expectedNonce, expectedState }
  const parameters = resource !== false ? { resource } : {}
  const exchange = async (options: oidc.AuthorizationCodeGrantOptions = {}) =>
    await oidc.authorizationCodeGrant(configuration, callback, checks, parameters, options)
  return { configuration, person, start, callback, checks, exchange }
}

export async function getTokens(url: string, asking: Asking = {}) {
  const signedIn = await signIn(url, asking)
  return { ...signedIn, tokens: await signedIn.exchange() }
}

export async function discover(url: string, { clientId, clientSecret }: Asking = {}) {
  return await oidc.discovery(
    new URL(url),
    clientId ?? notes.clientId,
    clientSecret,
    clientSecret ? oidc.ClientSecretPost(clientSecret) : oidc.None(),
    { execute: [oidc.allowInsecureRequests] },
  )
}
