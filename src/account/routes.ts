import type Router from 'koa-router'

import { connectedAppsPage, removeAppPage } from '../../views/account-apps.ts'
import { accountHomePage } from '../../views/account-home.ts'
import { signedOutEverywherePage, signOutEverywherePage } from '../../views/account-signed-out.ts'
import type { AreaView } from '../../views/area.ts'
import type { Actor } from '../audit/audit-log.ts'
import type { AppLine, GrantLists } from '../grants/grant-lists.ts'
import { nothingHere } from '../http/errors.ts'
import { formField } from '../http/form.ts'
import { noticeOf } from '../http/notice.ts'
import { seeOther, sendPage } from '../http/page.ts'
import { addressOf, pages } from '../http/paths.ts'
import { makeRouter } from '../http/router.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import type { PageContext, SignedInPages } from '../relying-party/signed-in-pages.ts'
import { describeScopes } from '../scopes/scope-sentences.ts'
import { operates } from '../sites/roles.ts'
import type { HeldSite } from '../sites/site-choice.ts'
import { kindOfOrigin } from './app-kind.ts'

export interface AccountDependencies {
  readonly gate: SignedInPages
  readonly lists: Pick<GrantLists, 'listApps' | 'findApp'>
  readonly listPages: ListPages
  readonly listHeldSites: (personId: string) => Promise<readonly HeldSite[]>
  /** @returns false when there was nothing to remove */
  readonly removeApp: (line: AppLine, actor: Actor) => Promise<boolean>
  readonly signOutEverywhere: (ctx: PageContext, session: PageSession) => Promise<void>
  readonly now: () => number
}

/** /account: who the person is here, what they connected, and the way out of every browser. */
export function accountRoutes(dependencies: AccountDependencies): Router {
  const router = makeRouter()
  const { gate } = dependencies

  router.get(
    pages.account,
    gate.page(async (ctx, session) => await showHome(ctx, session, dependencies)),
  )
  appRoutes(router, dependencies)

  router.get(
    pages.signOutEverywhere,
    gate.page(async (ctx, session) => {
      const [action, cancelHref] = [pages.signOutEverywhere, pages.account]
      sendPage(
        ctx,
        signOutEverywherePage({ area: areaOf(session, pages.account), action, cancelHref }),
      )
    }),
  )
  router.post(
    pages.signOutEverywhere,
    gate.form(async (ctx, session) => {
      await dependencies.signOutEverywhere(ctx, session)
      seeOther(ctx, pages.signedOutEverywhere)
    }),
  )
  // Whoever sees this page is signed out already.
  router.get(pages.signedOutEverywhere, (ctx) => {
    sendPage(ctx, signedOutEverywherePage({ againHref: pages.account }))
  })
  return router
}

/** Connected apps, and the removal of one. */
function appRoutes(router: Router, dependencies: AccountDependencies): void {
  const { gate, lists, listPages, removeApp, now } = dependencies
  router.get(
    pages.apps,
    gate.page(async (ctx, session) => {
      const found = await lists.listApps(session.person.id, listPages.requestOf(ctx))
      const apps = found.rows.map(
        ({ clientId, clientName, clientOrigin, site, scopes, ...use }) => ({
          name: clientName,
          kind: kindOfOrigin(clientOrigin),
          siteName: site?.name,
          removeHref: `${pages.removeApp}?${lineQuery(clientId, site?.id)}`,
          ...describeScopes(scopes),
          ...use,
        }),
      )
      const done = noticeOf(ctx, {
        removed: 'The application was removed. It has no access any more.',
      })
      const area = areaOf(session, pages.apps)
      sendPage(ctx, connectedAppsPage({ area, apps, pager: listPages.pagerOf(ctx, found), done }))
    }),
  )
  router.get(
    pages.removeApp,
    gate.page(async (ctx, session) => {
      const query = new URLSearchParams(ctx.querystring)
      const [client, site] = [query.get('client') ?? '', query.get('site') ?? '']
      const app = await lists.findApp(lineOf(session, client, site))
      if (!app) throw nothingHere()
      const page = removeAppPage({
        area: areaOf(session, pages.apps),
        name: app.clientName,
        siteName: app.siteName,
        action: pages.removeApp,
        hidden: [
          { name: 'client', value: client },
          { name: 'site', value: site },
        ],
        cancelHref: pages.apps,
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    pages.removeApp,
    gate.form(async (ctx, session) => {
      const line = lineOf(session, formField(ctx, 'client'), formField(ctx, 'site'))
      // What is somebody else's, or gone, or was never there, is answered alike.
      if (!(await removeApp(line, actorOf(ctx, session, now)))) throw nothingHere()
      seeOther(ctx, `${pages.apps}?done=removed`)
    }),
  )
}

async function showHome(
  ctx: PageContext,
  session: PageSession,
  { listHeldSites }: AccountDependencies,
): Promise<void> {
  const { person } = session
  const sites = await listHeldSites(person.id)
  const page = accountHomePage({
    area: areaOf(session, pages.account),
    person,
    sites: sites.map(({ slug, name, roles }) => ({
      name,
      roles,
      adminHref: operates(roles) ? addressOf(pages.site, { site: slug }) : undefined,
    })),
    appsHref: pages.apps,
    signOutEverywhereHref: pages.signOutEverywhere,
  })
  sendPage(ctx, page)
}

function areaOf({ person, csrf }: PageSession, current: string): AreaView {
  const link = (href: string, label: string) => ({ href, label, current: href === current })
  return {
    name: 'Your account',
    links: [link(pages.account, 'Your account'), link(pages.apps, 'Connected apps')],
    signOutAction: pages.signOut,
    person,
    csrf,
  }
}

function lineOf({ person }: PageSession, clientId: string, site: string): AppLine {
  return { personId: person.id, clientId, siteId: site === '' ? undefined : site }
}

function lineQuery(clientId: string, siteId: string | undefined): string {
  return new URLSearchParams({ client: clientId, site: siteId ?? '' }).toString()
}
