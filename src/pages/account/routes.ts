/** The pages in which people see and end what they allowed. Rules are the domain's. */

import type Router from 'koa-router'

import { accountHomePage } from '../../../views/account-home.ts'
import {
  signedOutEverywherePage,
  signOutEverywherePage,
} from '../../../views/account-signed-out.ts'
import { operates } from '../../directory/sites/roles.ts'
import { listHeldSites } from '../../directory/sites/site-choice.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import { appRoutes } from './app-routes.ts'
import { type AccountPorts, areaOf, sendOwnPage } from './area.ts'
import { type QueryPorts, queryRoutes } from './query-routes.ts'

/** /account: who the person is here, what they connected, and the way out of every browser. */
export function accountRoutes(ports: QueryPorts): Router {
  const router = makeRouter()
  const { database, signedInPages } = ports

  router.get(
    pages.account,
    signedInPages.page(async (ctx, session) => await showHome(ctx, session, ports)),
  )
  appRoutes(router, ports)
  queryRoutes(router, ports)

  router.get(
    pages.signOutEverywhere,
    signedInPages.page(async (ctx, session) => {
      const [action, cancelHref] = [pages.signOutEverywhere, pages.account]
      const area = areaOf(session, pages.account)
      const page = signOutEverywherePage({ area, action, cancelHref })
      await sendOwnPage(ctx, { page, session, database })
    }),
  )
  router.post(
    pages.signOutEverywhere,
    signedInPages.form(async (ctx, session) => {
      await signedInPages.signOutEverywhere(ctx, session)
      seeOther(ctx, pages.signedOutEverywhere)
    }),
  )
  // Whoever sees this page is signed out already.
  router.get(pages.signedOutEverywhere, (ctx) => {
    sendPage(ctx, signedOutEverywherePage({ againHref: pages.account }))
  })
  return router
}

async function showHome(
  ctx: PageContext,
  session: PageSession,
  { database }: AccountPorts,
): Promise<void> {
  const { person } = session
  const sites = await listHeldSites(database, person.id)
  const page = accountHomePage({
    area: areaOf(session, pages.account),
    person,
    sites: sites.map((site) => ({
      name: site.name,
      roles: site.roles,
      adminHref: operates(site.roles)
        ? addressOf(pages.site, { site: nameOfSite(site) })
        : undefined,
      connectHref: addressOf(pages.connect, { site: site.slug }),
    })),
    appsHref: pages.apps,
    queriesHref: sites.length === 0 ? undefined : pages.memberQueries,
    signOutEverywhereHref: pages.signOutEverywhere,
  })
  await sendOwnPage(ctx, { page, session, database })
}
