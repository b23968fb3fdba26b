import { createHash, randomBytes } from 'node:crypto'

import { createLocalJWKSet, type JWK, type JWTPayload, jwtVerify } from 'jose'
import type { JWK as EngineKey } from 'oidc-provider'
import { z } from 'zod'

import { signInIncomplete } from '../http/errors.ts'
import { pages, paths } from '../http/paths.ts'
import { OPENID } from '../scopes/catalogue.ts'
import { OWN_CLIENT_ID } from './own-client.ts'
import type { OwnRequest } from './own-request.ts'

/**
 * The relying party's half of a sign-in: authorization code with PKCE, state, nonce and the check of
 * `iss` (RFC 9207), as this service asks it of everybody. It owns no cookie and no session.
 */
export interface SignInDependencies {
  readonly baseUrl: string
  /** Keys of id_tokens; only their public halves are used. */
  readonly keys: readonly EngineKey[]
  readonly ownRequest: OwnRequest
  readonly now: () => number
}

/** What the browser brings back, sealed, in a cookie. */
export type PendingSignIn = z.infer<typeof pendingSignIn>

const pendingSignIn = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
})

/** @throws when the text is no pending sign-in; it was sealed by us, so that would be a fault */
export function parsePendingSignIn(text: string): PendingSignIn {
  return pendingSignIn.parse(JSON.parse(text))
}

/** Begins a sign-in that ends at `returnTo`, an address of this service. */
export function beginSignIn(
  returnTo: string,
  baseUrl: string,
): { pending: PendingSignIn; address: string } {
  const [state, nonce, verifier] = [random(), random(), random()]
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: OWN_CLIENT_ID,
    redirect_uri: baseUrl + pages.signedIn,
    scope: OPENID,
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  return {
    pending: { state, nonce, verifier, returnTo },
    address: `${paths.authorization}?${query}`,
  }
}

/** Redeems the code and gives the person whom the id_token names. */
export async function completeSignIn(
  answer: URLSearchParams,
  pending: PendingSignIn,
  dependencies: SignInDependencies,
): Promise<string> {
  const { baseUrl, ownRequest } = dependencies
  const code = answer.get('code')
  if (answer.get('iss') !== baseUrl || !code) throw signInIncomplete('no code of this issuer')
  const tokens = tokenAnswer.safeParse(
    await ownRequest(
      paths.token,
      new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: OWN_CLIENT_ID,
        redirect_uri: baseUrl + pages.signedIn,
        code_verifier: pending.verifier,
        code,
      }),
    ),
  )
  if (!tokens.success) throw signInIncomplete('the code was not accepted')
  const claims = await verify(tokens.data.id_token, dependencies)
  if (claims['nonce'] !== pending.nonce || !claims.sub) throw signInIncomplete('another nonce')
  return claims.sub
}

const tokenAnswer = z.object({ id_token: z.string() })

// Specification, Authentication 7: iss, aud, exp, nonce, and the signature by the key named in `kid`.
async function verify(
  idToken: string,
  { keys, baseUrl, now }: SignInDependencies,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(
      idToken,
      createLocalJWKSet({ keys: keys.map(publicHalf) }),
      {
        issuer: baseUrl,
        audience: OWN_CLIENT_ID,
        algorithms: ['ES256'],
        currentDate: new Date(now()),
      },
    )
    return payload
  } catch (error) {
    throw Object.assign(signInIncomplete('an id_token that is not right'), { cause: error })
  }
}

function publicHalf({ d: _private, ...key }: EngineKey): JWK {
  // The engine's type says of every member that it may be undefined; these are our own EC keys.
  return key as JWK
}

function random(): string {
  return randomBytes(32).toString('base64url')
}
