import { sha256 } from '../../platform/store/digest.ts'
import type { StateStore } from '../../platform/store/oauth-state.ts'

/** A proof by which it is remembered. */
export interface UsedProof {
  /** The key or the client that made it. */
  readonly whose: string
  readonly jti: string
  /** When it would be refused for its age, in epoch seconds. */
  readonly endsAtSeconds: number
  /** When it says that it was made, in epoch seconds. */
  readonly madeAtSeconds: number | undefined
}

/**
 * Remembers a proof until it would be refused for its age.
 *
 * @returns `first` for exactly one caller; `forgotten` of one that was made before the store began to
 * remember, so that nobody knows whether it was used
 */
export type UseOnce = (proof: UsedProof) => Promise<'first' | 'again' | 'forgotten'>

/** A key, a client or whoever cannot make us remember a proof for longer. */
const REMEMBERED_SECONDS_MAX = 86_400

/** So long an assertion counts as having lived that does not say when it was made (RFC 7523 §3 lets it). */
const UNSAID_LIFE_SECONDS = 3_600

export interface UseOncePorts {
  readonly state: StateStore
  readonly stateMemory: { since(): number }
  readonly now: () => number
}

/**
 * One proof works once, in whatever process: the same one twice is somebody who overheard it (RFC 9449
 * §11.1, RFC 7523 §3). One write decides, so that of any number at the same time one is the first.
 */
export function makeUseOnce({ state, stateMemory, now }: UseOncePorts): UseOnce {
  const records = state.adapterFor('ReplayDetection')
  return async ({ whose, jti, endsAtSeconds, madeAtSeconds }) => {
    const ttlSeconds = endsAtSeconds - Math.floor(now() / 1000)
    if (ttlSeconds > REMEMBERED_SECONDS_MAX) return 'again'
    const isFirst = await records.addOnce(sha256(`${whose} ${jti}`), Math.max(1, ttlSeconds))
    if (!isFirst) return 'again'
    // Asked after the answer, which the server gave that is now there. A made time is in whole seconds.
    const madeAt = madeAtSeconds ?? endsAtSeconds - UNSAID_LIFE_SECONDS
    return madeAt * 1000 > stateMemory.since() ? 'first' : 'forgotten'
  }
}
