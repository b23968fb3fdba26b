import { sha256 } from '../../platform/store/digest.ts'
import type { StateStore } from '../../platform/store/oauth-state.ts'

/** How a client may sign a proof (FAPI 2.0 Security Profile §5.4.1); never with a shared secret. */
export const proofAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const

/** How far the clock of a client may be from ours. */
export const CLOCK_TOLERANCE_SECONDS = 15

/** A proof by which it is remembered. */
interface UsedProof {
  /** The key or the client that made it. */
  readonly whose: string
  readonly jti: string
  /** When its age alone would refuse it, in epoch seconds. */
  readonly endsAtSeconds: number
  /** When it claims to have been made, in epoch seconds. */
  readonly madeAtSeconds: number | undefined
}

/**
 * Remembers a proof until its age alone would refuse it.
 *
 * @returns `first` for exactly one caller; `forgotten` for a proof made before the store began to
 *   remember, which may have been used
 */
export type UseOnce = (proof: UsedProof) => Promise<'first' | 'again' | 'forgotten'>

/** No client can make the store remember a proof for longer. */
const REMEMBERED_SECONDS_MAX = 86_400

/** The assumed age of an assertion without `iat`, which RFC 7523 §3 allows. */
const ASSUMED_LIFE_SECONDS = 3_600

export interface UseOncePorts {
  readonly state: StateStore
  readonly stateMemory: { since(): number }
  readonly now: () => number
}

/**
 * Accepts each proof once, in whatever process: a second use is a replay (RFC 9449 §11.1, RFC 7523 §3).
 * One write decides, so that of any number at the same time one is the first.
 */
export function makeUseOnce({ state, stateMemory, now }: UseOncePorts): UseOnce {
  const records = state.adapterFor('ReplayDetection')
  return async ({ whose, jti, endsAtSeconds, madeAtSeconds }) => {
    const ttlSeconds = endsAtSeconds - Math.floor(now() / 1000)
    if (ttlSeconds > REMEMBERED_SECONDS_MAX) return 'again'
    const isFirst = await records.addOnce(sha256(`${whose} ${jti}`), Math.max(1, ttlSeconds))
    if (!isFirst) return 'again'
    // Read after the write, so that it is about the Redis that answered. `iat` has whole seconds.
    const madeAt = madeAtSeconds ?? endsAtSeconds - ASSUMED_LIFE_SECONDS
    return madeAt * 1000 > stateMemory.since() ? 'first' : 'forgotten'
  }
}
