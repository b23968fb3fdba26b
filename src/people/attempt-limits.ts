import type { Cluster, Redis } from 'ioredis'

import { sha256 } from '../store/digest.ts'
import { consume, makeLimiter, networkOf } from '../store/rate-limits.ts'

/**
 * Bounds failed sign-ins: of one person from one address, of one person from everywhere, and from
 * one address for all people. An attempt is counted before the password is checked, so that
 * parallel guesses cannot slip past, and given back when it succeeds or nothing was checked.
 *
 * With Redis all processes count together, and each counts by itself while Redis is out of reach.
 */
export interface AttemptLimits {
  /** Seconds to wait when a limit is reached; undefined when the attempt may go on. */
  begin(attempt: Attempt): Promise<number | undefined>
  succeeded(attempt: Attempt): Promise<void>
  /** No password was checked: the attempt is not counted. */
  unchecked(attempt: Attempt): Promise<void>
}

export interface Attempt {
  readonly login: string
  readonly address: string
}

export interface AttemptPolicy {
  readonly failuresPerAccountAndAddressMax: number
  readonly failuresPerAccountMax: number
  readonly failuresPerAddressMax: number
  readonly failureWindowSeconds: number
}

export function makeAttemptLimits(
  policy: AttemptPolicy,
  redis: Redis | Cluster | undefined,
): AttemptLimits {
  const limit = (name: string, points: number) =>
    makeLimiter(
      { keyPrefix: `gatehouse:attempts:${name}`, points, duration: policy.failureWindowSeconds },
      redis,
    )
  const limits = [
    { keyOf: pairKey, limiter: limit('pair', policy.failuresPerAccountAndAddressMax) },
    { keyOf: accountKey, limiter: limit('account', policy.failuresPerAccountMax) },
    { keyOf: addressKey, limiter: limit('address', policy.failuresPerAddressMax) },
  ] as const

  return {
    async begin(attempt) {
      for (const { keyOf, limiter } of limits) {
        const waitSeconds = await consume(limiter, keyOf(attempt))
        if (waitSeconds !== undefined) return waitSeconds
      }
      return undefined
    },
    async succeeded(attempt) {
      await Promise.all([
        limits[0].limiter.delete(pairKey(attempt)),
        limits[1].limiter.reward(accountKey(attempt), 1),
        limits[2].limiter.reward(addressKey(attempt), 1),
      ])
    },
    async unchecked(attempt) {
      await Promise.all(limits.map(({ keyOf, limiter }) => limiter.reward(keyOf(attempt), 1)))
    },
  }
}

const addressKey = ({ address }: Attempt) => networkOf(address)
const accountKey = ({ login }: Attempt) => sha256(login)
const pairKey = (attempt: Attempt) => `${accountKey(attempt)}:${addressKey(attempt)}`
