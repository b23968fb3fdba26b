/** Creates the endpoints that accept tokens: UserInfo, introspection, forward authentication and the upstream route. */

import type { Config } from '../config/config.ts'
import type { Oauth } from '../oauth/oauth.ts'
import type { Platform } from '../platform/platform.ts'
import { forwardAuthRoute } from './resource-server/forward-auth-route.ts'
import { introspectionRoute } from './resource-server/introspection-route.ts'
import { userinfoRoute } from './resource-server/userinfo-route.ts'
import { makeVerdicts } from './resource-server/verify-bearer.ts'
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
  const verdicts = makeVerdicts(platform, oauth, { audience: baseUrl, lifetimes })
  const parts = { platform, oauth, verdicts, baseUrl, resourceMetadataUrl }
  return {
    verifyBearer: verdicts.verifyBearer,
    userinfo: userinfoRoute(parts),
    introspection: introspectionRoute(parts),
    forwardAuth: forwardAuthRoute(parts),
    /** Creates the upstream route for a key ring. Its first key signs the tokens of forwarded requests. */
    upstreamWithKeys: makeUpstreamSurface(parts, upstreams),
  }
}
