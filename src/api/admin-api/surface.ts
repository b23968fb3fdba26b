import type Router from 'koa-router'

import type { Files } from '../../school/files/file-storage.ts'
import { makeTryQuery, type TryQuery } from '../graphql/try-query.ts'
import type { AdminApi, AdminApiDependencies, ExecuteAdmin } from './admin-api.ts'
import type { AdminCaller } from './context.ts'
import { type AdminApiRoutesDependencies, adminApiRoutes } from './routes.ts'

export interface AdminApiPorts
  extends Omit<AdminApiDependencies, 'storage'>,
    Omit<AdminApiRoutesDependencies, 'api'> {
  readonly files: Files
}

/**
 * The Admin API: over HTTP, and within the process for the tools that are made of it. It is loaded with
 * the first request for it, because a start should not wait for what many never ask for.
 */
export function adminApiSurface(ports: AdminApiPorts): {
  readonly routes: Router
  readonly executeAdmin: ExecuteAdmin
  readonly tryQuery: TryQuery<AdminCaller>
} {
  const { database, cursors, now, limits, files } = ports
  const parts = { database, cursors, now, limits, storage: files.storage }
  let loading: Promise<AdminApi> | undefined
  const api = () => {
    loading ??= import('./admin-api.ts').then(({ makeAdminApi }) => makeAdminApi(parts))
    return loading
  }
  return {
    routes: adminApiRoutes({ ...ports, api }),
    executeAdmin: async (...asked) => await (await api()).execute(...asked),
    tryQuery: makeTryQuery(api, { limits: ports.requestLimits, name: 'adminApi' }),
  }
}
