import { calculateJwkThumbprint, EmbeddedJWK, type JWTPayload, jwtVerify } from 'jose'

import { sha256 } from '../../platform/store/digest.ts'
import type { DpopNonces } from './dpop-nonces.ts'
import { proofAlgorithms } from './proof-algorithms.ts'
import type { UseOnce } from './used-proofs.ts'

/** A request with what proves that its sender has a key (RFC 9449 §4). */
export interface ProvenRequest {
  /** The DPoP headers; a request may illegally carry several. */
  readonly proofs: readonly string[]
  readonly method: string
  /** The address that was asked, as the caller spells it; a query counts for nothing (§4.3). */
  readonly address: string
  /** The access token that the request carries, where it carries one. */
  readonly accessToken?: string | undefined
}

/** What a proof says. The caller is told a sentence of ours; why is for the log. */
export type DpopProof =
  | { readonly kind: 'none' }
  | { readonly kind: 'good'; readonly thumbprint: string; readonly nextNonce?: string | undefined }
  | { readonly kind: 'bad'; readonly reason: string }
  /** The same again, with this nonce. */
  | { readonly kind: 'stale'; readonly nextNonce: string }

export type CheckDpop = (request: ProvenRequest) => Promise<DpopProof>

/** So old may a proof be, or so far ahead, that carries no nonce; as at the engine's endpoints. */
const AGE_SECONDS_MAX = 300
const PROOF_LENGTH_MAX = 4096

export interface DpopDependencies {
  readonly nonces: DpopNonces
  readonly useOnce: UseOnce
  readonly now: () => number
}

/** Checks a proof as RFC 9449 §4.3 lists it; that it is used once is decided last, by one write. */
export function makeCheckDpop(dependencies: DpopDependencies): CheckDpop {
  const { now } = dependencies
  return async (request) => {
    const [proof, ...others] = request.proofs
    if (proof === undefined) return { kind: 'none' }
    if (others.length > 0) return bad('there are several DPoP headers')
    const read = await readProof(proof, now())
    if ('problem' in read) return bad(read.problem)
    const { payload, thumbprint } = read
    const problem = problemOf(payload, request)
    if (problem !== undefined) return bad(problem)
    return await judgeFreshness(payload, thumbprint, dependencies)
  }
}

async function judgeFreshness(
  { nonce, iat = 0, jti = '' }: JWTPayload & { readonly nonce?: unknown },
  thumbprint: string,
  { nonces, useOnce, now }: DpopDependencies,
): Promise<DpopProof> {
  const nowSeconds = Math.floor(now() / 1000)
  const current = nonces.current()
  const isFresh =
    nonce === undefined
      ? Math.abs(nowSeconds - iat) <= AGE_SECONDS_MAX
      : typeof nonce === 'string' && nonces.isGood(nonce)
  if (!isFresh) return { kind: 'stale', nextNonce: current }
  const ends = Math.max(nowSeconds, iat) + AGE_SECONDS_MAX
  const proof = { whose: thumbprint, jti, endsAtSeconds: ends, madeAtSeconds: iat }
  const used = await useOnce(proof)
  if (used === 'again') return bad('the proof was used before')
  // A client that is told so makes another proof, which is all that is wanted (RFC 9449 §8).
  if (used === 'forgotten') return { kind: 'stale', nextNonce: current }
  return { kind: 'good', thumbprint, nextNonce: nonce === current ? undefined : current }
}

async function readProof(
  proof: string,
  nowMs: number,
): Promise<
  { readonly payload: JWTPayload; readonly thumbprint: string } | { readonly problem: string }
> {
  if (proof.length > PROOF_LENGTH_MAX) return { problem: 'the proof is too long' }
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: [...proofAlgorithms],
      typ: 'dpop+jwt',
      currentDate: new Date(nowMs),
    })
    const { jwk = {} } = protectedHeader
    return { payload, thumbprint: await calculateJwkThumbprint(jwk) }
  } catch (error) {
    return { problem: `the proof is no DPoP proof: ${error instanceof Error ? error.message : ''}` }
  }
}

function problemOf(
  payload: JWTPayload,
  { method, address, accessToken }: ProvenRequest,
): string | undefined {
  if (typeof payload.jti !== 'string' || payload.jti === '') return 'the proof has no jti'
  if (typeof payload.iat !== 'number') return 'the proof has no iat'
  if (payload['htm'] !== method) return 'the proof is for another method'
  if (!isSameAddress(payload['htu'], address)) return 'the proof is for another address'
  if (accessToken !== undefined && payload['ath'] !== sha256(accessToken)) {
    return 'the proof is for another access token'
  }
  return undefined
}

/** RFC 9449 §4.3: query and fragment are ignored, and the rest is compared as normalised. */
function isSameAddress(htu: unknown, address: string): boolean {
  const said = typeof htu === 'string' ? URL.parse(htu) : null
  const asked = URL.parse(address)
  if (!said || !asked) return false
  return said.origin + said.pathname === asked.origin + asked.pathname
}

function bad(reason: string): DpopProof {
  return { kind: 'bad', reason }
}
