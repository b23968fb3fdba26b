/** The Admin API: what operators read and change of their site, over HTTP and for tools. Rules are in the domain. */

import { adminApiPage } from '../../../views/admin-api.ts'
import { paths } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { invalid, type Verdict } from '../../resource/resource-server/verify-bearer.ts'
import type { UploadLimits } from '../../school/files/receive-file.ts'
import type { ApiLimits } from '../graphql/documents.ts'
import { type EndpointPorts, graphqlSurface } from '../graphql/endpoint.ts'
import { type AdminParts, adminCaller } from './context.ts'
import { schemaText } from './published-schema.ts'
import { type Admission, type UploadPorts, uploadRoute } from './upload-route.ts'

export interface AdminApiPorts
  extends EndpointPorts,
    Omit<AdminParts, 'storage'>,
    Omit<UploadPorts, 'limits'> {
  readonly limits: ApiLimits
  readonly requestLimits: Limits
  readonly uploadLimits: UploadLimits
  /** The scopes that a caller without a good token should ask for; read at the first refusal. */
  readonly askedScopes: () => readonly string[]
  readonly baseUrl: string
}

/**
 * The Admin API (specification, Authentication 6; design 29): the sibling of the Member API, for tokens
 * with operator scopes. That the person still operates the site of the grant is part of the verdict;
 * which scopes an operation needs stands in the schema, field by field. The API is loaded with the first
 * request for it, because a start should not wait for what many never use.
 */
export function adminApiSurface(ports: AdminApiPorts) {
  const { database, cursors, now, limits, files, askedScopes, requestLimits } = ports
  const parts = { database, cursors, now, storage: files.storage }
  const admission: Pick<Admission, 'admit' | 'callerOf'> = {
    admit: mustBeAtSite,
    callerOf: (token, ctx) => adminCaller(token, callerOf(ctx)),
  }
  const { routes, protection, execute, tryQuery } = graphqlSurface(ports, {
    ...admission,
    load: async () => (await import('./admin-api.ts')).makeAdminApi(parts, limits),
    address: paths.adminGraphql,
    schemaAddress: paths.adminSchema,
    schemaText,
    page: adminApiPage({
      endpoint: ports.baseUrl + paths.adminGraphql,
      schemaHref: paths.adminSchema,
      guideHref: paths.authMd,
    }),
    costLimit: { limits: requestLimits, name: 'adminApi', changes: 'changes' },
    askedScopes,
  })
  uploadRoute(routes, { ...ports, limits: ports.uploadLimits }, { ...admission, protection })
  return { routes, executeAdmin: execute, tryQuery }
}

/** Operator scopes are never without a site; a token that has none can do nothing here. */
function mustBeAtSite(verdict: Verdict): Verdict {
  if (verdict.kind !== 'granted' || verdict.token.siteId !== undefined) return verdict
  return invalid('the token is for no site')
}
