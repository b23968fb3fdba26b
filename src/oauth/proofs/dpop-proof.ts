import { hkdfSync } from 'node:crypto'

import { calculateJwkThumbprint, EmbeddedJWK, type JWTPayload, jwtVerify } from 'jose'

import { sha256 } from '../../platform/store/digest.ts'
import { proofAlgorithms, type UseOnce } from './proof-rules.ts'

/** A request with what proves that its sender has a key (RFC 9449 §4). */
export interface ProvenRequest {
  /** The DPoP headers; a request may illegally carry several. */
  readonly proofs: readonly string[]
  readonly method: string
  /** The requested address as the caller spells it; its query is ignored (§4.3). */
  readonly address: string
  readonly accessToken?: string | undefined
}

/** The reason of a bad proof is for the log only. */
export type DpopProof =
  | { readonly kind: 'none' }
  | { readonly kind: 'good'; readonly thumbprint: string; readonly nextNonce?: string | undefined }
  | { readonly kind: 'bad'; readonly reason: string }
  /** The client must repeat the request with this nonce. */
  | { readonly kind: 'stale'; readonly nextNonce: string }

export type CheckDpop = (request: ProvenRequest) => Promise<DpopProof>

/** How old or how far ahead a proof without a nonce may be; as at the engine's endpoints. */
const AGE_SECONDS_MAX = 300
const PROOF_LENGTH_MAX = 4096

export interface DpopDependencies {
  /** 32 bytes. */
  readonly nonceKey: Buffer
  readonly useOnce: UseOnce
  readonly now: () => number
}

/** Checks a proof as RFC 9449 §4.3 lists it. One write, the last step, decides that it is used once. */
export function makeCheckDpop({ nonceKey, useOnce, now }: DpopDependencies): CheckDpop {
  const nonces = makeDpopNonces(nonceKey, now)

  const judgeFreshness = async (
    { nonce, iat = 0, jti = '' }: JWTPayload & { readonly nonce?: unknown },
    thumbprint: string,
  ): Promise<DpopProof> => {
    const nowSeconds = Math.floor(now() / 1000)
    const current = nonces.current()
    const isFresh =
      nonce === undefined
        ? Math.abs(nowSeconds - iat) <= AGE_SECONDS_MAX
        : typeof nonce === 'string' && nonces.isGood(nonce)
    if (!isFresh) return { kind: 'stale', nextNonce: current }
    const endsAtSeconds = Math.max(nowSeconds, iat) + AGE_SECONDS_MAX
    const used = await useOnce({ whose: thumbprint, jti, endsAtSeconds, madeAtSeconds: iat })
    if (used === 'again') return bad('the proof was used before')
    // The client makes another proof, which is all that is needed (RFC 9449 §8).
    if (used === 'forgotten') return { kind: 'stale', nextNonce: current }
    return { kind: 'good', thumbprint, nextNonce: nonce === current ? undefined : current }
  }

  return async (request) => {
    const [proof, ...others] = request.proofs
    if (proof === undefined) return { kind: 'none' }
    if (others.length > 0) return bad('there are several DPoP headers')
    const read = await readProof(proof, now())
    if ('problem' in read) return bad(read.problem)
    const problem = problemOfClaims(read.payload, request)
    if (problem !== undefined) return bad(problem)
    return await judgeFreshness(read.payload, read.thumbprint)
  }
}

async function readProof(proof: string, nowMs: number) {
  if (proof.length > PROOF_LENGTH_MAX) return { problem: 'the proof is too long' }
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: [...proofAlgorithms],
      typ: 'dpop+jwt',
      currentDate: new Date(nowMs),
    })
    return { payload, thumbprint: await calculateJwkThumbprint(protectedHeader.jwk ?? {}) }
  } catch (error) {
    return { problem: `the proof is no DPoP proof: ${error instanceof Error ? error.message : ''}` }
  }
}

function problemOfClaims(
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

const NONCE_STEP_SECONDS = 60

/**
 * Nonces that a proof may have to carry, so that none can be made for later (RFC 9449 §8). They derive from
 * the time and a key, so that every process knows them and nothing is stored. They equal the engine's: to a
 * client both are one origin, for which it keeps one nonce.
 */
export function makeDpopNonces(key: Buffer, now: () => number) {
  const nonceAt = (step: number) => {
    const counter = Buffer.alloc(8)
    counter.writeBigUInt64BE(BigInt(step))
    return Buffer.from(hkdfSync('sha256', key, counter, 'DPoP', 32)).toString('base64url')
  }
  const stepNow = () => Math.floor(now() / 1000 / NONCE_STEP_SECONDS)
  return {
    /** The nonce that the next proof should carry. */
    current: () => nonceAt(stepNow() + 1),
    isGood: (nonce: string) =>
      [-2, -1, 0, 1, 2].some((away) => nonceAt(stepNow() + away) === nonce),
  }
}
