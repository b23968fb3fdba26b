import type Router from 'koa-router'

import { overviewPage } from '../../../views/admin-overview.ts'
import { sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { makeOverviews } from '../../school/analytics/overview.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** What happened at a site in the last thirty days, counted. */
export function overviewRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const overviewOf = makeOverviews(parts.database, parts.now)
  router.get(
    pages.overview,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const isOn = site.mcpConnectionsOnSince !== undefined
      const page = overviewPage({
        ...(await overviewOf(site.id)),
        area,
        siteName: site.name,
        applicationsHref: isOn ? address(pages.applications) : undefined,
        auditHref: address(pages.audit),
      })
      sendPage(ctx, page)
    }),
  )
  return router
}
