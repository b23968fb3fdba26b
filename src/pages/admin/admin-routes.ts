/** Serves the pages at /admin, for operators of a site. */

import type Router from 'koa-router'

import { makeRouter } from '../../platform/http/router.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'
import { type AdminPorts, makeAdminParts } from './admin-parts.ts'
import { appearanceRoutes } from './appearance-routes.ts'
import { applicationFormRoutes } from './application-forms.ts'
import { applicationRoutes } from './application-routes.ts'
import { approvalRoutes } from './approval-routes.ts'
import { assistantRoutes } from './assistant-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { documentClientRoutes } from './document-client-routes.ts'
import { makeOperatorPages } from './operator-pages.ts'
import { peopleRoutes } from './people-routes.ts'
import { providerRoutes, twoFactorRoutes } from './provider-routes.ts'
import { operatorQueryRoutes } from './query-routes.ts'
import { resourceServerRoutes } from './resource-server-routes.ts'
import { siteRoutes } from './site-routes.ts'
import { stopAndSecretRoutes } from './stop-and-secret-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

/** Creates the routes of the pages for operators (specification, What the service does 8). */
export function adminRoutes(ownPages: OwnPages, ports: AdminPorts): Router {
  const parts = makeAdminParts(ownPages, ports)
  const router = makeRouter()
  const operatorPages = makeOperatorPages(router, parts)
  siteRoutes(router, operatorPages, parts)
  providerRoutes(operatorPages, parts)
  twoFactorRoutes(operatorPages, parts)
  appearanceRoutes(operatorPages, parts)
  auditRoutes(operatorPages, parts)
  peopleRoutes(operatorPages, parts)
  operatorQueryRoutes(operatorPages, parts)
  applicationFormRoutes(operatorPages, parts)
  applicationRoutes(operatorPages, parts)
  resourceServerRoutes(operatorPages, parts)
  stopAndSecretRoutes(operatorPages, parts)
  assistantRoutes(operatorPages, parts)
  webhookRoutes(operatorPages, parts)
  approvalRoutes(operatorPages, parts)
  if (parts.reviews) documentClientRoutes(operatorPages, parts.reviews, parts)
  return router
}
