/** Creates the endpoints that accept tokens: UserInfo, introspection, forward authentication and the upstream route. */

import type { Config } from '../config/config.ts'
import type { Oauth } from '../oauth/oauth.ts'
import type { Platform } from '../platform/platform.ts'
import { forwardAuthRoute } from './resource-server/forward-auth-route.ts'
import { introspectionRoute } from './resource-server/introspection-route.ts'
import { makeTokenJudges } from './resource-server/judge-token.ts'
import { userinfoRoute } from './resource-server/userinfo-route.ts'
import { makeVerifyBearer } from './resource-server/verify-bearer.ts'
import { makeUpstreamSurface } from './upstream/upstream-route.ts'

export type Resource = ReturnType<typeof makeResource>

/** Creates the routes that accept tokens, and `verifyBearer` for the APIs and tools. */
export function makeResource(
  { baseUrl, service }: Config,
  platform: Platform,
  oauth: Oauth,
  resourceMetadataUrl: string,
) {
  const { lifetimes, upstreams } = service
  const { now } = platform
  const settings = { audience: baseUrl, lifetimes, now }
  const { judgeAccessToken, judgeAnyToken } = makeTokenJudges(oauth.tokens, settings)
  const countUse = oauth.grants.usage.count
  const verifyBearer = makeVerifyBearer(judgeAccessToken, oauth.checkDpop, countUse)
  const verdicts = { judgeAccessToken, judgeAnyToken, verifyBearer, countUse }
  const parts = { platform, oauth, verdicts, baseUrl, resourceMetadataUrl }
  return {
    verifyBearer,
    userinfo: userinfoRoute(parts),
    introspection: introspectionRoute(parts),
    forwardAuth: forwardAuthRoute(parts),
    /** Creates the upstream route for a key ring. Its first key signs the tokens of forwarded requests. */
    upstreamWithKeys: makeUpstreamSurface(parts, upstreams),
  }
}
