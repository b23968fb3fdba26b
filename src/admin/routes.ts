import type Router from 'koa-router'

import { applicationChangeRoutes } from './application-change-routes.ts'
import { applicationRoutes } from './application-routes.ts'
import { applicationUseRoutes } from './application-use-routes.ts'
import type { AdminDependencies } from './dependencies.ts'
import { documentClientRoutes } from './document-client-routes.ts'
import { makeOperatorPages } from './operator-pages.ts'
import { siteRoutes } from './site-routes.ts'

/**
 * /admin: what the owners and admins of a site decide about applications (specification, What the
 * service does 8).
 */
export function adminRoutes(dependencies: AdminDependencies): Router[] {
  const { documents, listPages } = dependencies
  const operatorPages = makeOperatorPages(dependencies)
  return [
    siteRoutes(operatorPages, dependencies),
    applicationRoutes(operatorPages, dependencies),
    applicationChangeRoutes(operatorPages, dependencies),
    applicationUseRoutes(operatorPages, dependencies),
    ...(documents ? [documentClientRoutes(operatorPages, documents, listPages)] : []),
  ]
}
