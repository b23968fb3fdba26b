/** The relying party's side of a sign-in: authorization code with PKCE, state, nonce and the `iss` check (RFC 9207). */

import {
  type AuthorizationServer,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  getValidatedIdTokenClaims,
  type IDToken,
  processAuthorizationCodeResponse,
  type TokenEndpointRequestOptions,
  type ValidateSignatureOptions,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from 'oauth4webapi'

/** The values of an authorization request that are needed to validate its response. */
export type KeptValues = Readonly<Record<'state' | 'nonce' | 'verifier', string>>

/** Creates the query of an authorization request, and the values to keep until the response arrives. */
export async function beginCodeFlow(
  parameters: Readonly<Record<'client_id' | 'redirect_uri' | 'scope', string>>,
  state = generateRandomState(),
): Promise<{ readonly kept: KeptValues; readonly query: URLSearchParams }> {
  const nonce = generateRandomNonce()
  const verifier = generateRandomCodeVerifier()
  const query = new URLSearchParams({
    response_type: 'code',
    ...parameters,
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  return { kept: { state, nonce, verifier }, query }
}

/** The authorization server, and how to authenticate there as a client. */
export interface CodeFlow {
  readonly server: AuthorizationServer
  readonly client: Client
  readonly authentication: ClientAuth
  readonly redirectUri: string
  readonly options: TokenEndpointRequestOptions & ValidateSignatureOptions
}

/**
 * Redeems the code of an authorization response. Returns the claims of the id_token, and the access token. Checks
 * the `state` and `iss` of the response, and the `iss`, `aud`, `exp`, `nonce` and signature of the id_token
 * (specification, Authentication 7).
 *
 * @throws an error without secrets in its message if a check or a request fails
 */
export async function redeemAnswer(
  answer: URLSearchParams,
  { state, nonce, verifier }: KeptValues,
  { server, client, authentication, redirectUri, options }: CodeFlow,
): Promise<{ readonly claims: IDToken; readonly accessToken: string }> {
  const callback = validateAuthResponse(server, client, answer, state)
  const response = await authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    callback,
    redirectUri,
    verifier,
    options,
  )
  const tokens = await processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  await validateApplicationLevelSignature(server, response, options)
  const claims = getValidatedIdTokenClaims(tokens)
  if (!claims) throw new Error('the token response has no id_token')
  return { claims, accessToken: tokens.access_token }
}
