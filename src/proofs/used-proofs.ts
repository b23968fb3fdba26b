import { sha256 } from '../store/digest.ts'
import type { StateStore } from '../store/oauth-state.ts'

/** Remembers a proof until it would be refused for its age. @returns false when it was seen before */
export type UseOnce = (whose: string, jti: string, endsAtSeconds: number) => Promise<boolean>

/** A key, a client or whoever cannot make us remember a proof for longer. */
const REMEMBERED_SECONDS_MAX = 86_400

/**
 * One proof works once, in whatever process: the same one twice is somebody who overheard it (RFC 9449
 * §11.1, RFC 7523 §3). One write decides, so that of any number at the same time one is the first.
 */
export function makeUseOnce(state: StateStore, now: () => number): UseOnce {
  const records = state.adapterFor('ReplayDetection')
  return async (whose, jti, endsAtSeconds) => {
    const ttlSeconds = endsAtSeconds - Math.floor(now() / 1000)
    if (ttlSeconds > REMEMBERED_SECONDS_MAX) return false
    return await records.addOnce(sha256(`${whose} ${jti}`), Math.max(1, ttlSeconds))
  }
}
