/** The pages in which people see and end what they allowed. Rules are the domain's. */

import type Router from 'koa-router'

import { accountHomePage } from '../../../views/account-home.ts'
import {
  signedOutEverywherePage,
  signOutEverywherePage,
} from '../../../views/account-signed-out.ts'
import { listHeldSites, operates } from '../../directory/sites/site-choice.ts'
import { findLookOfPerson, siteLook } from '../../directory/sites/site-look.ts'
import { sendPage } from '../../platform/http/page.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'
import { appRoutes, type DeclarePage } from './app-routes.ts'
import { areaOf, type MemberQueries, queryRoutes } from './query-routes.ts'

/** /account: who the person is here, what they connected, and the way out of every browser. */
export function accountRoutes(ownPages: OwnPages, queries: MemberQueries): Router {
  const router = makeRouter()
  const { database, signedInPages } = ownPages
  const page: DeclarePage = (pattern, current, show) => {
    router.get(
      pattern,
      signedInPages.page(async (ctx, session) => {
        const shown = await show(areaOf(session, current), session, ctx)
        // The page has the look of the site if the person belongs to one site alone.
        return { ...shown, look: siteLook(await findLookOfPerson(database, session.person.id)) }
      }),
    )
  }

  page(pages.account, pages.account, async (area, { person }) => {
    const sites = await listHeldSites(database, person.id)
    return accountHomePage({
      area,
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
  })
  appRoutes(router, page, ownPages)
  queryRoutes(router, ownPages, queries)

  page(pages.signOutEverywhere, pages.account, (area) =>
    signOutEverywherePage({ area, action: pages.signOutEverywhere, cancelHref: pages.account }),
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
