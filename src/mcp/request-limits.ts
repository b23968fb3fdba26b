import type { BearerToken } from '../resource-server/verdict.ts'
import { consume, type LimitStore, makeLimiter, networkOf } from '../store/rate-limits.ts'

export interface RequestLimitPolicy {
  readonly requestsPerAddressMax: number
  readonly requestsPerCallerMax: number
  readonly windowSeconds: number
}

/**
 * How often the tool endpoint may be asked (MCP, tools: servers MUST rate limit invocations). Each
 * limit counts a request and gives the seconds to wait, if there is one too many.
 *
 * A caller is a person at a site by one client and not one token, so that a refresh buys no second
 * allowance. Many callers may share an address; its limit is the wider one.
 */
export function makeRequestLimits(policy: RequestLimitPolicy, limitStore: LimitStore) {
  const limiter = (name: string, points: number) =>
    makeLimiter(
      { keyPrefix: `gatehouse:mcp:${name}`, points, duration: policy.windowSeconds },
      limitStore,
    )
  const addresses = limiter('address', policy.requestsPerAddressMax)
  const callers = limiter('caller', policy.requestsPerCallerMax)
  return {
    ofAddress: (address: string) => consume(addresses, networkOf(address)),
    ofCaller: ({ clientId, personId, siteId = '' }: BearerToken) =>
      consume(callers, JSON.stringify([clientId, personId, siteId])),
  }
}
