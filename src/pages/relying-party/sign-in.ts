import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  clockSkew,
  clockTolerance,
  customFetch,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  getValidatedIdTokenClaims,
  None,
  processAuthorizationCodeResponse,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from 'oauth4webapi'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { signInIncomplete, storageUnavailable } from '../../platform/http/errors.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { OWN_CLIENT_ID } from './own-client.ts'
import type { OwnFetch } from './own-request.ts'
import type { PendingSignIn } from './pending-sign-in.ts'

/**
 * The relying party's half of a sign-in: authorization code with PKCE, state, nonce and the check of
 * `iss` (RFC 9207), as this service asks it of everybody. It owns no cookie and no session.
 */
export interface SignInDependencies {
  readonly baseUrl: string
  readonly ownFetch: OwnFetch
  readonly now: () => number
}

/** Begins a sign-in that ends at `returnTo`, an address of this service. */
export async function beginSignIn(
  returnTo: string,
  baseUrl: string,
): Promise<{ pending: PendingSignIn; address: string }> {
  const [state, nonce] = [generateRandomState(), generateRandomNonce()]
  const verifier = generateRandomCodeVerifier()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: OWN_CLIENT_ID,
    redirect_uri: baseUrl + pages.signedIn,
    scope: OPENID,
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    // Longer than any session lives: with it the id_token says when the person signed in.
    max_age: '34560000',
  })
  return {
    pending: { state, nonce, verifier, returnTo },
    address: `${paths.authorization}?${query}`,
  }
}

/** Who came back. */
export interface CameBack {
  readonly personId: string
  /** When they signed in, in epoch milliseconds; it may be long before they came to these pages. */
  readonly signedInAt: number
}

/** Redeems the code and gives the person whom the id_token names. */
export async function completeSignIn(
  answer: URLSearchParams,
  pending: PendingSignIn,
  { baseUrl, ownFetch, now }: SignInDependencies,
): Promise<CameBack> {
  const server = {
    issuer: baseUrl,
    token_endpoint: baseUrl + paths.token,
    jwks_uri: baseUrl + paths.jwks,
    authorization_response_iss_parameter_supported: true,
  }
  const client = {
    client_id: OWN_CLIENT_ID,
    id_token_signed_response_alg: 'ES256',
    [clockSkew]: Math.round((now() - Date.now()) / 1000),
    // One process has one clock.
    [clockTolerance]: 0,
  }
  // A base address without TLS is no danger to what never leaves the process.
  const options = { [customFetch]: ownFetch, [allowInsecureRequests]: true }

  if (!answer.get('code')) throw signInIncomplete('no code of this issuer')
  const callback = await orRefuse('no code of this issuer', () =>
    validateAuthResponse(server, client, answer, pending.state),
  )
  const response = await authorizationCodeGrantRequest(
    server,
    client,
    None(),
    callback,
    baseUrl + pages.signedIn,
    pending.verifier,
    options,
  )
  if (response.status === 503) throw storageUnavailable(await response.text())
  if (!response.ok) throw signInIncomplete('the code was not accepted')
  // Specification, Authentication 7: iss, aud, exp, nonce, and the signature by the key of `kid`.
  return await orRefuse('an id_token that is not right', async () => {
    const tokens = await processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: pending.nonce,
      requireIdToken: true,
    })
    await validateApplicationLevelSignature(server, response, options)
    const { sub: personId = '', auth_time = 0 } = getValidatedIdTokenClaims(tokens) ?? {}
    return { personId, signedInAt: auth_time * 1000 }
  })
}

async function orRefuse<Value>(why: string, step: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await step()
  } catch (error) {
    throw Object.assign(signInIncomplete(why), { cause: error })
  }
}
