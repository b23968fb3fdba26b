import type Router from 'koa-router'

import { type AdminApiDependencies, type ExecuteAdmin, makeAdminApi } from './admin-api.ts'
import { type AdminApiRoutesDependencies, adminApiRoutes } from './routes.ts'

export interface AdminApiPorts
  extends AdminApiDependencies,
    Omit<AdminApiRoutesDependencies, 'api'> {}

/** The Admin API: over HTTP, and within the process for the tools that are made of it. */
export function adminApiSurface(ports: AdminApiPorts): {
  readonly routes: Router
  readonly executeAdmin: ExecuteAdmin
} {
  const { database, cursors, now, limits } = ports
  const api = makeAdminApi({ database, cursors, now, limits })
  return { routes: adminApiRoutes({ ...ports, api }), executeAdmin: api.execute }
}
