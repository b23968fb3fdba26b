import type { Cluster, Redis } from 'ioredis'
import type Router from 'koa-router'

import type { VerifyBearer } from '../resource-server/verdict.ts'
import { type AdmissionPolicy, makeAdmission } from './admission.ts'
import { makeRequestLimits, type RequestLimitPolicy } from './request-limits.ts'
import { toolRoutes } from './routes.ts'
import { makeToolServer } from './server.ts'
import { once, type ToolParts } from './tool.ts'

export interface ToolEndpointSettings extends ToolParts {
  readonly policy: RequestLimitPolicy &
    Pick<AdmissionPolicy, 'allowedOrigins'> & { readonly bodyBytesMax: number }
  readonly resourceMetadataUrl: string
  readonly redis: Redis | Cluster | undefined
}

/**
 * The tool endpoint with all that it keeps: counts of requests and open streams live as long as the
 * process, and only the routes are made again when the signing keys change.
 */
export function makeToolEndpoint(
  settings: ToolEndpointSettings,
): (verifyBearer: VerifyBearer) => Router {
  const { policy, redis, resourceMetadataUrl } = settings
  const { baseUrl } = settings.service
  const admission = makeAdmission({
    baseUrl,
    allowedOrigins: policy.allowedOrigins,
  })
  const limits = makeRequestLimits(policy, redis)
  const tools = makeToolServer({ ...settings, authGuide: once(settings.authGuide) })
  const { bodyBytesMax } = policy
  return (verifyBearer) =>
    toolRoutes({
      baseUrl,
      admission,
      limits,
      tools,
      verifyBearer,
      resourceMetadataUrl,
      bodyBytesMax,
    })
}
