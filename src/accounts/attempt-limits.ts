import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'

import type { Cluster, Redis } from 'ioredis'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
} from 'rate-limiter-flexible'

/**
 * Bounds failed sign-ins: of one account from one address, of one account from everywhere, and from
 * one address for all accounts. An attempt is counted before the password is checked, so that
 * parallel guesses cannot slip past, and given back when it succeeds.
 *
 * With Redis all processes count together, and each counts by itself while Redis is out of reach.
 */
export interface AttemptLimits {
  /** Seconds to wait when a limit is reached; undefined when the attempt may go on. */
  begin(attempt: Attempt): Promise<number | undefined>
  succeeded(attempt: Attempt): Promise<void>
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
  }
}

/** Rotating through the addresses of one IPv6 network must not help, so that a /64 is one address. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!isIPv6(plain)) return plain
  const { hostname } = new URL(`http://[${plain}]`)
  return expand(hostname.slice(1, -1)).slice(0, 4).join(':')
}

function expand(ipv6: string): string[] {
  const [head = '', tail] = ipv6.split('::')
  const before = head.split(':').filter(Boolean)
  const after = tail?.split(':').filter(Boolean) ?? []
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}

interface LimiterOptions {
  readonly keyPrefix: string
  readonly points: number
  readonly duration: number
}

function makeLimiter(
  options: LimiterOptions,
  redis: Redis | Cluster | undefined,
): RateLimiterAbstract {
  const inMemory = new RateLimiterMemory(options)
  return redis
    ? new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: inMemory })
    : inMemory
}

async function consume(limiter: RateLimiterAbstract, key: string): Promise<number | undefined> {
  try {
    await limiter.consume(key)
    return undefined
  } catch (refusal) {
    if (refusal instanceof Error) throw refusal
    return Math.ceil((refusal as { msBeforeNext: number }).msBeforeNext / 1000)
  }
}

const addressKey = ({ address }: Attempt) => networkOf(address)
const accountKey = ({ login }: Attempt) => createHash('sha256').update(login).digest('base64url')
const pairKey = (attempt: Attempt) => `${accountKey(attempt)}:${addressKey(attempt)}`
