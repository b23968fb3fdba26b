import Router from 'koa-router'

import { accountHomePage } from '../../views/account-home.ts'
import { signedOutEverywherePage, signOutEverywherePage } from '../../views/account-signed-out.ts'
import { pages } from '../http/page-paths.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import { type PageContext, seeOther, sendPage } from '../relying-party/signed-in-pages.ts'
import { operates } from '../sites/roles.ts'
import { listOperatedSites } from '../sites/site-admin.ts'
import { listHeldSites } from '../sites/site-choice.ts'
import { appRoutes } from './app-routes.ts'
import { type AccountPorts, addresses, areaOf } from './area.ts'

/** /account: who the person is here, what they connected, and the way out of every browser. */
export function accountRoutes(ports: AccountPorts): Router {
  const router = new Router()
  const { signedInPages } = ports

  router.get(
    addresses.home,
    signedInPages.page(async (ctx, session) => await showHome(ctx, session, ports)),
  )
  appRoutes(router, ports)

  router.get(
    addresses.signOutEverywhere,
    signedInPages.page(async (ctx, session) => {
      const [action, cancelHref] = [addresses.signOutEverywhere, addresses.home]
      sendPage(
        ctx,
        signOutEverywherePage({ area: areaOf(session, addresses.home), action, cancelHref }),
      )
    }),
  )
  router.post(
    addresses.signOutEverywhere,
    signedInPages.form(async (ctx, session) => {
      await signedInPages.signOutEverywhere(ctx, session)
      seeOther(ctx, addresses.signedOutEverywhere)
    }),
  )
  // Whoever sees this page is signed out already.
  router.get(addresses.signedOutEverywhere, (ctx) => {
    sendPage(ctx, signedOutEverywherePage({ againHref: addresses.home }))
  })
  return router
}

async function showHome(
  ctx: PageContext,
  session: PageSession,
  { database }: AccountPorts,
): Promise<void> {
  const { person } = session
  const [sites, operated] = await Promise.all([
    listHeldSites(database, person.id),
    listOperatedSites(database, person.id),
  ])
  const slugOf = new Map(operated.map(({ id, slug }) => [id, slug]))
  const page = accountHomePage({
    area: areaOf(session, addresses.home),
    person,
    sites: sites.map(({ id, name, roles }) => ({
      name,
      roles,
      adminHref: operates(roles) ? `${pages.admin}/${slugOf.get(id) ?? ''}` : undefined,
    })),
    appsHref: addresses.apps,
    signOutEverywhereHref: addresses.signOutEverywhere,
  })
  sendPage(ctx, page)
}
