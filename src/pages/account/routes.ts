/** The pages in which people see and end what they allowed. Rules are the domain's. */

import type Router from 'koa-router'

import { accountHomePage } from '../../../views/account-home.ts'
import {
  signedOutEverywherePage,
  signOutEverywherePage,
} from '../../../views/account-signed-out.ts'
import { operates } from '../../directory/sites/roles.ts'
import { listHeldSites } from '../../directory/sites/site-choice.ts'
import { sendPage } from '../../platform/http/page.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { appRoutes } from './app-routes.ts'
import { areaOf, ownPage } from './area.ts'
import { type QueryPorts, queryRoutes } from './query-routes.ts'

/** /account: who the person is here, what they connected, and the way out of every browser. */
export function accountRoutes(ports: QueryPorts): Router {
  const router = makeRouter()
  const { database, signedInPages } = ports

  router.get(
    pages.account,
    signedInPages.page(async (_, session) => {
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
      return await ownPage(page, session, database)
    }),
  )
  appRoutes(router, ports)
  queryRoutes(router, ports)

  router.get(
    pages.signOutEverywhere,
    signedInPages.page(async (_, session) => {
      const [action, cancelHref] = [pages.signOutEverywhere, pages.account]
      const area = areaOf(session, pages.account)
      const page = signOutEverywherePage({ area, action, cancelHref })
      return await ownPage(page, session, database)
    }),
  )
  router.post(
    pages.signOutEverywhere,
    signedInPages.form(async (ctx, session) => {
      await signedInPages.signOutEverywhere(ctx, session)
      return pages.signedOutEverywhere
    }),
  )
  // The browser is signed out already when it shows this page.
  router.get(pages.signedOutEverywhere, (ctx) => {
    sendPage(ctx, signedOutEverywherePage({ againHref: pages.account }))
  })
  return router
}
