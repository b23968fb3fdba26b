import type Router from 'koa-router'

import type { Files } from '../files/open-file-storage.ts'
import { type AdminApiDependencies, type ExecuteAdmin, makeAdminApi } from './admin-api.ts'
import { type AdminApiRoutesDependencies, adminApiRoutes } from './routes.ts'
import { makeTryQuery, type TryQuery } from './try-query.ts'

export interface AdminApiPorts
  extends Omit<AdminApiDependencies, 'storage'>,
    Omit<AdminApiRoutesDependencies, 'api'> {
  readonly files: Files
}

/** The Admin API: over HTTP, and within the process for the tools that are made of it. */
export function adminApiSurface(ports: AdminApiPorts): {
  readonly routes: Router
  readonly executeAdmin: ExecuteAdmin
  readonly tryQuery: TryQuery
} {
  const { database, cursors, now, limits, files } = ports
  const api = makeAdminApi({ database, cursors, now, limits, storage: files.storage })
  return {
    routes: adminApiRoutes({ ...ports, api }),
    executeAdmin: api.execute,
    tryQuery: makeTryQuery(api),
  }
}
