/** The Admin API over HTTP: what operators read and change of their site, and which scope opens it. Rules are in the domain. */

import type Router from 'koa-router'

import { adminApiPage } from '../../../views/admin-api.ts'
import { paths } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { AdviseOnScopes } from '../../resource/resource-server/protect.ts'
import { invalid, type Verdict } from '../../resource/resource-server/verdict.ts'
import type { UploadLimits } from '../../school/files/receive-file.ts'
import { graphqlEndpoint } from '../graphql/endpoint.ts'
import type { AdminApi } from './admin-api.ts'
import { adminCaller } from './context.ts'
import { schemaText } from './schema-text.ts'
import { type Admission, type UploadPorts, uploadRoute } from './upload-route.ts'

export interface AdminApiRoutesDependencies extends Omit<UploadPorts, 'limits'> {
  readonly requestLimits: Limits
  readonly api: () => Promise<AdminApi>
  readonly uploadLimits: UploadLimits
  /** The protected-resource metadata to which challenges point (RFC 9728 §5.1; design 5). */
  readonly resourceMetadataUrl: string
  readonly adviseOnScopes: AdviseOnScopes
  /** What a caller without a good token should ask for; asked at the first refusal. */
  readonly askedScopes: () => readonly string[]
  readonly baseUrl: string
  /** How long the published schema may be kept. */
  readonly schemaCacheSeconds: number
}

/**
 * The Admin API over HTTP (specification, Authentication 6; design 29): the sibling of the Member
 * API, for tokens with operator scopes. That the person still operates the site of the grant is part
 * of the verdict; which scopes an operation needs stands in the schema, field by field.
 */
export function adminApiRoutes(dependencies: AdminApiRoutesDependencies): Router {
  const { resourceMetadataUrl, adviseOnScopes, askedScopes, baseUrl, uploadLimits } = dependencies
  const admission: Admission = {
    protection: {
      ...{ resourceMetadataUrl, adviseOnScopes },
      get scopes() {
        return askedScopes()
      },
    },
    admit: mustBeAtSite,
    callerOf: (token, ctx) => adminCaller(token, callerOf(ctx)),
  }
  const router = graphqlEndpoint({
    ...dependencies,
    ...admission,
    costLimit: { limits: dependencies.requestLimits, name: 'adminApi', changes: 'changes' },
    address: paths.adminGraphql,
    schemaAddress: paths.adminSchema,
    schemaText,
    page: adminApiPage({
      endpoint: baseUrl + paths.adminGraphql,
      schemaHref: paths.adminSchema,
      guideHref: paths.authMd,
    }),
  })
  uploadRoute(router, { ...dependencies, limits: uploadLimits }, admission)
  return router
}

/** Operator scopes are never without a site; a token that has none can do nothing here. */
function mustBeAtSite(verdict: Verdict): Verdict {
  if (verdict.kind !== 'granted' || verdict.token.siteId !== undefined) return verdict
  return invalid('the token is for no site')
}
