/** Serves the start page of the account, and pages below it. */

import type Router from 'koa-router'

import { connectedAppsPage, removeAppPage } from '../../../views/account-apps.ts'
import { accountHomePage } from '../../../views/account-home.ts'
import {
  signedOutEverywherePage,
  signOutEverywherePage,
} from '../../../views/account-signed-out.ts'
import type { AreaView } from '../../../views/area.ts'
import type { ClientView } from '../../../views/client-view.ts'
import type { Page } from '../../../views/layout.ts'
import { describeScopes } from '../../directory/scopes/scope-uses.ts'
import { makeFindHeldSites, operates } from '../../directory/sites/site-choice.ts'
import { findLookOfPerson, siteLook } from '../../directory/sites/site-look.ts'
import { type AppLine, removeApp } from '../../oauth/grants/end-grants.ts'
import { makeGrantLists } from '../../oauth/grants/grant-lists.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { noticeOf, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import type { OwnPages, PageContext } from '../relying-party/signed-in-pages.ts'
import { areaOf, type MemberQueries, memberQueryRoutes } from './query-routes.ts'

/** Declares an account page. `current` is the navigation link to highlight. */
type DeclarePage = (
  pattern: string,
  current: string,
  show: (area: AreaView, session: PageSession, ctx: PageContext) => Page | Promise<Page>,
) => void

/** Creates these pages of the account: home, connected apps, Member API queries, and signing out everywhere. */
export function accountRoutes(ownPages: OwnPages, queries: MemberQueries): Router {
  const router = makeRouter()
  const { database, signedInPages } = ownPages
  const page: DeclarePage = (pattern, current, show) => {
    router.get(
      pattern,
      signedInPages.page(async (ctx, session) => {
        const shown = await show(areaOf(session, current), session, ctx)
        // If the person has roles at only one site, the page has the appearance of that site.
        return { ...shown, look: siteLook(await findLookOfPerson(database, session.person.id)) }
      }),
    )
  }

  page(pages.account, pages.account, async (area, { person }) => {
    const sites = await makeFindHeldSites(database)(person.id)
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
      sessionsHref: pages.sessions,
    })
  })
  appRoutes(router, page, ownPages)
  memberQueryRoutes(router, ownPages, queries)

  page(pages.signOutEverywhere, pages.sessions, (area) =>
    signOutEverywherePage({ area, action: pages.signOutEverywhere, cancelHref: pages.sessions }),
  )
  // This page needs no session, because the browser is already signed out.
  router.get(pages.signedOutEverywhere, (ctx) => {
    sendPage(ctx, signedOutEverywherePage({ againHref: pages.account }))
  })
  return router
}

/** Registers the pages that list and remove connected apps. */
function appRoutes(router: Router, page: DeclarePage, ownPages: OwnPages): void {
  const { database, signedInPages, listPages, scopeUses, now } = ownPages
  const lists = makeGrantLists(database, now)
  page(pages.apps, pages.apps, async (area, { person }, ctx) => {
    const found = await lists.listApps(person.id, listPages.requestOf(ctx))
    const apps = found.rows.map(({ clientId, clientName, clientOrigin, site, scopes, ...use }) => ({
      name: clientName,
      // `clientOrigin` is the origin when the client was connected. Origins not listed in `kinds` are unverified.
      kind: kinds.get(clientOrigin) ?? 'self-declared',
      siteName: site?.name,
      removeHref: `${pages.removeApp}?${new URLSearchParams({ client: clientId, site: site?.id ?? '' })}`,
      ...describeScopes(scopes, scopeUses),
      ...use,
    }))
    const done = noticeOf(ctx, {
      removed: 'The application was removed. It no longer has access.',
    })
    return connectedAppsPage({ area, apps, pager: listPages.pagerOf(ctx, found), done })
  })
  page(pages.removeApp, pages.apps, async (area, session, ctx) => {
    const query = new URLSearchParams(ctx.querystring)
    const [client, site] = [query.get('client') ?? '', query.get('site') ?? '']
    const app = await lists.findApp(lineOf(session, client, site))
    if (!app) throw nothingHere()
    return removeAppPage({
      area,
      name: app.clientName,
      siteName: app.siteName,
      action: pages.removeApp,
      hidden: [
        { name: 'client', value: client },
        { name: 'site', value: site },
      ],
      cancelHref: pages.apps,
    })
  })
  router.post(
    pages.removeApp,
    signedInPages.form(async (ctx, session) => {
      const line = lineOf(session, formField(ctx, 'client'), formField(ctx, 'site'))
      // The response is the same for an unknown client and for a client that only other people connected.
      const ended = await removeApp(database, line, actorOf(ctx, session, now))
      if (ended.length === 0) throw nothingHere()
      return `${pages.apps}?done=removed`
    }),
  )
}

function lineOf({ person }: PageSession, clientId: string, site: string): AppLine {
  return { personId: person.id, clientId, siteId: site === '' ? undefined : site }
}

const kinds: ReadonlyMap<string, ClientView['kind']> = new Map([
  ['integration', 'vendor'],
  ['site', 'operator-created'],
  ['loopback', 'loopback'],
])
