/** The pages of the operators of a site. Rules are the domain's. */

import type Router from 'koa-router'

import { applicationChangeRoutes } from './application-change-routes.ts'
import { applicationRoutes } from './application-routes.ts'
import { applicationUseRoutes } from './application-use-routes.ts'
import { assistantRoutes } from './assistant-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { documentClientRoutes } from './document-client-routes.ts'
import { furtherRoutes } from './further-routes.ts'
import { makeOperatorPages } from './operator-pages.ts'
import { overviewRoutes } from './overview-routes.ts'
import { type AdminPorts, makeAdminParts } from './parts.ts'
import { queryRoutes } from './query-routes.ts'
import { resourceServerRoutes } from './resource-server-routes.ts'
import { resourceServerSecretRoutes } from './resource-server-secret-routes.ts'
import { siteRoutes } from './site-routes.ts'

/**
 * /admin: what the owners and admins of a site decide about applications (specification, What the
 * service does 8).
 */
export function adminRoutes(ports: AdminPorts): Router[] {
  const parts = makeAdminParts(ports)
  const { documents, listPages } = parts
  const operatorPages = makeOperatorPages(parts)
  return [
    siteRoutes(operatorPages, parts),
    overviewRoutes(operatorPages, parts),
    auditRoutes(operatorPages, parts),
    queryRoutes(operatorPages, parts),
    applicationRoutes(operatorPages, parts),
    applicationChangeRoutes(operatorPages, parts),
    applicationUseRoutes(operatorPages, parts),
    resourceServerRoutes(operatorPages, parts),
    resourceServerSecretRoutes(operatorPages, parts),
    assistantRoutes(operatorPages, parts),
    ...(parts.offersChoices ? [furtherRoutes(operatorPages, parts)] : []),
    ...(documents ? [documentClientRoutes(operatorPages, documents, listPages)] : []),
  ]
}
