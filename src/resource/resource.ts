/**
 * The room of who may use a token: the verdict on an access token, UserInfo, introspection, forward auth for
 * proxies, and the forwarding of calls to the platform's own API.
 */

import type { Config } from '../config/config.ts'
import type { Oauth } from '../oauth/oauth.ts'
import type { Platform } from '../platform/platform.ts'
import { forwardAuthRoute } from './resource-server/forward-auth-route.ts'
import { introspectionRoute } from './resource-server/introspection-route.ts'
import { userinfoRoute } from './resource-server/userinfo-route.ts'
import { makeVerdicts } from './resource-server/verify-bearer.ts'
import { upstreamSurface } from './upstream/routes.ts'

export type Resource = ReturnType<typeof makeResource>

/** @param resourceMetadataUrl metadata of the whole origin, to which challenges point (RFC 9728 §5.1) */
export function makeResource(
  { baseUrl, service }: Config,
  platform: Platform,
  oauth: Oauth,
  resourceMetadataUrl: string,
) {
  const { requestLimits, now, watch } = platform
  const { grants, tokens, authorization, checkDpop, verifyAssertion, adviseOnScopes } = oauth
  const { conformance, findClient } = authorization
  const countUse = grants.usage.count
  const { judgeAccessToken, judgeAnyToken, verifyBearer } = makeVerdicts({
    findAccessToken: tokens.findAccessToken,
    findRefreshToken: tokens.findRefreshToken,
    lifetimes: service.lifetimes,
    audience: baseUrl,
    checkDpop,
    countUse,
    now,
  })
  return {
    verifyBearer,
    userinfo: userinfoRoute({
      baseUrl,
      resourceMetadataUrl,
      judgeAccessToken,
      checkDpop,
      findClient,
      conformance,
      requestLimits,
      countUse,
    }),
    introspection: introspectionRoute({
      baseUrl,
      judgeAnyToken,
      findClient,
      verifyAssertion,
      requestLimits,
      countUse,
    }),
    forwardAuth: forwardAuthRoute({
      resourceMetadataUrl,
      judgeAccessToken,
      findClient,
      adviseOnScopes,
      requestLimits,
      countUse,
    }),
    /** Made again for each key ring: what is forwarded carries a token of ours. */
    upstreamWithKeys: upstreamSurface(
      {
        upstreams: service.upstreams,
        verifyBearer,
        requestLimits,
        resourceMetadataUrl,
        adviseOnScopes,
        baseUrl,
        outgoing: watch.outgoing,
      },
      now,
    ),
  }
}
