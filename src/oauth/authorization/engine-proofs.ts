import { decodeJwt, type JWTPayload } from 'jose'
import { errors, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import { proveClient } from '../../platform/limits/client-requests.ts'
import { choseFapi, type EngineClient } from '../clients/client-metadata.ts'
import { problemOfAssertion, type UseOnce } from '../proofs/proofs.ts'

/** Judges what the engine leaves open of an assertion: its audience, and when it was made. */
export function assertAssertion(
  { oidc }: KoaContextWithOIDC,
  claims: { readonly aud?: unknown; readonly iat?: number },
  ...[, client]: readonly [header: unknown, client: EngineClient]
): void {
  const problem = problemOfAssertion(claims, {
    issuer: oidc.issuer,
    accepted: [...oidc.clientJwtAuthExpectedAudience()],
    choseFapi: choseFapi(client),
    // The engine compares the other times with this clock.
    nowMs: Date.now(),
  })
  if (problem !== undefined) throw new errors.InvalidClientAuth(problem)
}

/** The part of the engine that remembers proofs; its types leave it out. */
interface ReplayDetection {
  unique(iss: string, jti: string, exp: number): Promise<boolean>
}

/**
 * Makes the engine remember proofs where we do. It would look first and write then, so that two at the same
 * time would both be the first.
 */
export function rememberProofsOnce(provider: Provider, useOnce: UseOnce): void {
  const detection = provider.ReplayDetection as unknown as ReplayDetection
  detection.unique = async (whose, jti, endsAtSeconds) => {
    const madeAtSeconds = madeAt(whose, jti)
    const isFirst = (await useOnce({ whose, jti, endsAtSeconds, madeAtSeconds })) === 'first'
    const { ctx } = Provider
    // A DPoP proof is of a key, and does not authenticate the client.
    if (isFirst && whose === ctx?.oidc?.client?.clientId) proveClient(ctx, whose)
    return isFirst
  }
}

/**
 * When the proof of the running request claims to have been made, which the engine has verified by now. A
 * request may carry both kinds; the other one is not verified yet, and its claims must not be used.
 */
function madeAt(whose: string, jti: string): number | undefined {
  const { ctx } = Provider
  const assertion = claimsOf(ctx?.oidc?.params?.['client_assertion'])
  if (assertion?.iss === whose) return assertion.jti === jti ? assertion.iat : undefined
  const proof = claimsOf(ctx?.get('dpop'))
  return proof?.jti === jti ? proof.iat : undefined
}

function claimsOf(proof: unknown): JWTPayload | undefined {
  try {
    return typeof proof === 'string' && proof !== '' ? decodeJwt(proof) : undefined
  } catch {
    return undefined
  }
}
