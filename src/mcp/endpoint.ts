/** The tool endpoint: who is let in, which tools there are, and what they do. */

import type { Cluster, Redis } from 'ioredis'
import type Router from 'koa-router'

import packageJson from '../../package.json' with { type: 'json' }
import type { VerifyBearer } from '../resource-server/verdict.ts'
import type { Database } from '../store/database.ts'
import { type AdmissionPolicy, admitOnly, makeAdmission } from './admission.ts'
import { makeRequestLimits, type RequestLimitPolicy } from './request-limits.ts'
import { toolRoutes } from './routes.ts'
import { makeToolServer } from './server.ts'
import { once, type ToolParts } from './tool.ts'

export interface ToolEndpointPorts extends Omit<ToolParts, 'service' | 'read'> {
  readonly baseUrl: string
  readonly serviceName: string
  readonly database: Database
  readonly policy: RequestLimitPolicy &
    Pick<AdmissionPolicy, 'allowedOrigins'> & { readonly bodyBytesMax: number }
  readonly resourceMetadataUrl: string
  readonly redis: Redis | Cluster | undefined
  readonly verifyBearer: VerifyBearer
}

/** The tool endpoint with all that it keeps, such as the counts of requests. */
export function toolEndpoint(ports: ToolEndpointPorts): Router {
  const { baseUrl, serviceName, database, policy } = ports
  return toolRoutes({
    ...ports,
    admit: admitOnly(makeAdmission({ baseUrl, allowedOrigins: policy.allowedOrigins })),
    limits: makeRequestLimits(policy, ports.redis),
    tools: makeToolServer({
      ...ports,
      service: { name: serviceName, version: packageJson.version, baseUrl },
      read: (question) => question(database),
      authGuide: once(ports.authGuide),
    }),
    bodyBytesMax: policy.bodyBytesMax,
  })
}
