import type { Cluster, Redis } from 'ioredis'
import ipaddr from 'ipaddr.js'
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
} from 'rate-limiter-flexible'

export interface LimiterOptions {
  /** Tells the counts of one limit from those of another. */
  readonly keyPrefix: string
  /** How many are free within one window. */
  readonly points: number
  /** The length of the window in seconds. */
  readonly duration: number
}

/**
 * A counter of what one key did within a window. With Redis all processes count together, and each
 * counts by itself while Redis is out of reach; without it each process counts by itself.
 */
export function makeLimiter(
  options: LimiterOptions,
  redis: Redis | Cluster | undefined,
): RateLimiterAbstract {
  const inMemory = new RateLimiterMemory(options)
  return redis
    ? new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: inMemory })
    : inMemory
}

/** Counts one; the seconds to wait when there was none left, undefined when it may go on. */
export async function consume(
  limiter: RateLimiterAbstract,
  key: string,
): Promise<number | undefined> {
  try {
    await limiter.consume(key)
    return undefined
  } catch (refusal) {
    if (refusal instanceof Error) throw refusal
    return Math.ceil((refusal as { msBeforeNext: number }).msBeforeNext / 1000)
  }
}

/**
 * The network that an address counts for. Rotating through the addresses of one IPv6 network must not
 * help, so that a /64 is one; nor must another spelling of the same address, a zone, or the port that
 * some proxies write behind it.
 */
export function networkOf(address: string): string {
  const plain = address
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/%.*$/, '')
  if (!ipaddr.IPv6.isValid(plain)) return plain
  const ipv6 = ipaddr.IPv6.parse(plain)
  if (ipv6.isIPv4MappedAddress()) return ipv6.toIPv4Address().toString()
  return ipv6.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')
}
