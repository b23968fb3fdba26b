import type { Cluster, Redis } from 'ioredis'
import ipaddr from 'ipaddr.js'
import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterClusterMaster,
  RateLimiterMemory,
  RateLimiterRedis,
  RLWrapperTimeouts,
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
 * Where limits are counted: in Redis by all processes of a service together; in the primary by all
 * workers of one host; or in this process, which is alone.
 */
export type LimitStore = Redis | Cluster | 'primary' | 'process'

/** A worker counts by itself rather than wait longer for the primary. */
const PRIMARY_ANSWERS_WITHIN_MS = 250

/**
 * A counter of what one key did within a window. While Redis or the primary is out of reach, each
 * process counts by itself.
 */
export function makeLimiter(options: LimiterOptions, store: LimitStore): RateLimiterAbstract {
  const inMemory = new RateLimiterMemory(options)
  if (store === 'process') return inMemory
  if (store !== 'primary') {
    return new RateLimiterRedis({ ...options, storeClient: store, insuranceLimiter: inMemory })
  }
  const { keyPrefix, points, duration } = options
  const timeoutMs = PRIMARY_ANSWERS_WITHIN_MS
  // The primary keeps a limit as the first worker named it, also when a reload has changed its figures.
  const name = `${keyPrefix}:${points}:${duration}`
  const limiter = new RateLimiterCluster({ ...options, keyPrefix: name, timeoutMs })
  const insured = { limiter, timeoutMs, insuranceLimiter: inMemory }
  return new RLWrapperTimeouts(insured)
}

/** Makes this process, a primary, the one in which its workers count. */
export function countForWorkers(): void {
  new RateLimiterClusterMaster()
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
