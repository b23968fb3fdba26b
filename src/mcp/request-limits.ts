import type { Cluster, Redis } from 'ioredis'

import type { BearerToken } from '../resource-server/verdict.ts'
import { consume, makeLimiter, networkOf } from '../store/rate-limits.ts'

/** How often the tool endpoint may be asked (MCP, tools: servers MUST rate limit invocations). */
export interface RequestLimits {
  /** Seconds to wait, or undefined; counts a request of this address. */
  ofAddress(address: string): Promise<number | undefined>
  /** Seconds to wait, or undefined; counts a request of this person by this client. */
  ofCaller(caller: BearerToken): Promise<number | undefined>
}

export interface RequestLimitPolicy {
  readonly requestsPerAddressMax: number
  readonly requestsPerCallerMax: number
  readonly windowSeconds: number
}

/**
 * A caller is a person at a site by one client and not one token, so that a refresh buys no second
 * allowance. Many callers may share an address; its limit is the wider one.
 */
export function makeRequestLimits(
  policy: RequestLimitPolicy,
  redis: Redis | Cluster | undefined,
): RequestLimits {
  const duration = policy.windowSeconds
  const addresses = makeLimiter(
    { keyPrefix: 'gatehouse:mcp:address', points: policy.requestsPerAddressMax, duration },
    redis,
  )
  const callers = makeLimiter(
    { keyPrefix: 'gatehouse:mcp:caller', points: policy.requestsPerCallerMax, duration },
    redis,
  )
  return {
    ofAddress: (address) => consume(addresses, networkOf(address)),
    ofCaller: ({ clientId, personId, siteId = '' }) =>
      consume(callers, JSON.stringify([clientId, personId, siteId])),
  }
}
