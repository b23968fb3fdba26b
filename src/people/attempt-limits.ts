import { sha256 } from '../store/digest.ts'
import { consume, type LimitStore, makeLimiter, networkOf } from '../store/rate-limits.ts'

export type AttemptLimits = ReturnType<typeof makeAttemptLimits>

export interface Attempt {
  readonly login: string
  /** The caller's network address. */
  readonly address: string
}

export interface AttemptPolicy {
  readonly failuresPerAccountAndAddressMax: number
  readonly failuresPerAccountMax: number
  readonly failuresPerAddressMax: number
  readonly failureWindowSeconds: number
}

/**
 * Bounds failed sign-ins: of one account from one address, of one account from everywhere, and from
 * one address for all accounts. An attempt is counted before the password is checked, so that
 * parallel guesses cannot slip past, and given back when it succeeds or nothing was checked.
 */
export function makeAttemptLimits(policy: AttemptPolicy, limitStore: LimitStore) {
  const limit = (name: string, points: number) =>
    makeLimiter(
      { keyPrefix: `gatehouse:attempts:${name}`, points, duration: policy.failureWindowSeconds },
      limitStore,
    )
  const limits = [
    { keyOf: pairKey, limiter: limit('pair', policy.failuresPerAccountAndAddressMax) },
    { keyOf: accountKey, limiter: limit('account', policy.failuresPerAccountMax) },
    { keyOf: addressKey, limiter: limit('address', policy.failuresPerAddressMax) },
  ] as const

  return {
    /** Seconds to wait when a limit is reached; undefined when the attempt may go on. */
    async begin(attempt: Attempt): Promise<number | undefined> {
      for (const { keyOf, limiter } of limits) {
        const waitSeconds = await consume(limiter, keyOf(attempt))
        if (waitSeconds !== undefined) return waitSeconds
      }
      return undefined
    },
    async succeeded(attempt: Attempt): Promise<void> {
      await Promise.all([
        limits[0].limiter.delete(pairKey(attempt)),
        limits[1].limiter.reward(accountKey(attempt), 1),
        limits[2].limiter.reward(addressKey(attempt), 1),
      ])
    },
    /** No password was checked: the attempt is not counted. */
    async unchecked(attempt: Attempt): Promise<void> {
      await Promise.all(limits.map(({ keyOf, limiter }) => limiter.reward(keyOf(attempt), 1)))
    },
  }
}

const addressKey = ({ address }: Attempt) => networkOf(address)
const accountKey = ({ login }: Attempt) => sha256(login)
const pairKey = (attempt: Attempt) => `${accountKey(attempt)}:${addressKey(attempt)}`
