import Router from 'koa-router'

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
import { pages } from '../http/page-paths.ts'
import { actorOf } from '../relying-party/actor.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import type { PageSession } from '../relying-party/page-session.ts'
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
  /** The address of the administration of a site, by the site's id. */
  readonly slugsOf: (personId: string) => Promise<readonly { id: string; slug: string }[]>
  /** @returns false when there was nothing to remove */
  readonly removeApp: (line: AppLine, actor: Actor) => Promise<boolean>
  readonly signOutEverywhere: (ctx: PageContext, session: PageSession) => Promise<void>
  readonly now: () => number
}

const addresses = {
  home: pages.account,
  apps: `${pages.account}/apps`,
  remove: `${pages.account}/apps/remove`,
  signOutEverywhere: `${pages.account}/sign-out-everywhere`,
  signedOutEverywhere: `${pages.account}/signed-out-everywhere`,
} as const

/** /account: who the person is here, what they connected, and the way out of every browser. */
export function accountRoutes(dependencies: AccountDependencies): Router {
  const router = new Router()
  const { gate } = dependencies

  router.get(
    addresses.home,
    gate.page(async (ctx, session) => await showHome(ctx, session, dependencies)),
  )
  appRoutes(router, dependencies)

  router.get(
    addresses.signOutEverywhere,
    gate.page(async (ctx, session) => {
      const [action, cancelHref] = [addresses.signOutEverywhere, addresses.home]
      sendPage(
        ctx,
        signOutEverywherePage({ area: areaOf(session, addresses.home), action, cancelHref }),
      )
    }),
  )
  router.post(
    addresses.signOutEverywhere,
    gate.form(async (ctx, session) => {
      await dependencies.signOutEverywhere(ctx, session)
      seeOther(ctx, addresses.signedOutEverywhere)
    }),
  )
  // Whoever sees this page is signed out already.
  router.get(addresses.signedOutEverywhere, (ctx) => {
    sendPage(ctx, signedOutEverywherePage({ againHref: addresses.home }))
  })
  return router
}

/** Connected apps, and the removal of one. */
function appRoutes(router: Router, dependencies: AccountDependencies): void {
  const { gate, lists, listPages, removeApp, now } = dependencies
  router.get(
    addresses.apps,
    gate.page(async (ctx, session) => {
      const found = await lists.listApps(session.person.id, listPages.requestOf(ctx))
      const apps = found.rows.map(
        ({ clientId, clientName, clientOrigin, site, scopes, ...use }) => ({
          name: clientName,
          kind: kindOfOrigin(clientOrigin),
          siteName: site?.name,
          removeHref: `${addresses.remove}?${lineQuery(clientId, site?.id)}`,
          ...describeScopes(scopes),
          ...use,
        }),
      )
      const done = noticeOf(ctx, {
        removed: 'The application was removed. It has no access any more.',
      })
      const area = areaOf(session, addresses.apps)
      sendPage(ctx, connectedAppsPage({ area, apps, pager: listPages.pagerOf(ctx, found), done }))
    }),
  )
  router.get(
    addresses.remove,
    gate.page(async (ctx, session) => {
      const query = new URLSearchParams(ctx.querystring)
      const [client, site] = [query.get('client') ?? '', query.get('site') ?? '']
      const app = await lists.findApp(lineOf(session, client, site))
      if (!app) throw nothingHere()
      const page = removeAppPage({
        area: areaOf(session, addresses.apps),
        name: app.clientName,
        siteName: app.siteName,
        action: addresses.remove,
        hidden: [
          { name: 'client', value: client },
          { name: 'site', value: site },
        ],
        cancelHref: addresses.apps,
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    addresses.remove,
    gate.form(async (ctx, session) => {
      const line = lineOf(session, formField(ctx, 'client'), formField(ctx, 'site'))
      // What is somebody else's, or gone, or was never there, is answered alike.
      if (!(await removeApp(line, actorOf(ctx, session, now)))) throw nothingHere()
      seeOther(ctx, `${addresses.apps}?done=removed`)
    }),
  )
}

async function showHome(
  ctx: PageContext,
  session: PageSession,
  { listHeldSites, slugsOf }: AccountDependencies,
): Promise<void> {
  const { person } = session
  const [sites, slugs] = await Promise.all([listHeldSites(person.id), slugsOf(person.id)])
  const slugOf = new Map(slugs.map(({ id, slug }) => [id, slug]))
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

function areaOf({ person, csrf }: PageSession, current: string): AreaView {
  const link = (href: string, label: string) => ({ href, label, current: href === current })
  return {
    name: 'Your account',
    links: [link(addresses.home, 'Your account'), link(addresses.apps, 'Connected apps')],
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
