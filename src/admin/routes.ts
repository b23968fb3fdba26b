import type Router from 'koa-router'

import { applicationChangeRoutes } from './application-change-routes.ts'
import { applicationRoutes } from './application-routes.ts'
import { applicationUseRoutes } from './application-use-routes.ts'
import type { AdminDependencies } from './dependencies.ts'
import { documentClientRoutes } from './document-client-routes.ts'
import { makeEntrance } from './entrance.ts'
import { siteRoutes } from './site-routes.ts'

/**
 * /admin: what the owners and admins of a site decide about applications (specification, What the
 * service does: Developers, then OAuth applications).
 */
export function adminRoutes(dependencies: AdminDependencies): Router[] {
  const entrance = makeEntrance(dependencies)
  return [
    siteRoutes(entrance, dependencies),
    applicationRoutes(entrance, dependencies),
    applicationChangeRoutes(entrance, dependencies),
    applicationUseRoutes(entrance, dependencies),
    ...(dependencies.documents ? [documentClientRoutes(entrance, dependencies.documents)] : []),
  ]
}
