import type Router from 'koa-router'

import { connectedAppsPage, removeAppPage } from '../../../views/account-apps.ts'
import type { AreaView } from '../../../views/area.ts'
import type { ClientView } from '../../../views/client-view.ts'
import type { Page } from '../../../views/layout.ts'
import { describeScopes } from '../../directory/scopes/scope-uses.ts'
import { removeApp } from '../../oauth/grants/end-grants.ts'
import { type AppLine, makeGrantLists } from '../../oauth/grants/grant-lists.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import type { OwnPages, PageContext } from '../relying-party/signed-in-pages.ts'

/** Declares a page of an account; `current` is the link of the navigation that leads to it. */
export type DeclarePage = (
  pattern: string,
  current: string,
  show: (area: AreaView, session: PageSession, ctx: PageContext) => Page | Promise<Page>,
) => void

/** Connected apps, and the removal of one. */
export function appRoutes(router: Router, page: DeclarePage, ownPages: OwnPages): void {
  const { database, signedInPages, listPages, scopeUses, now } = ownPages
  const lists = makeGrantLists(database, now)
  page(pages.apps, pages.apps, async (area, { person }, ctx) => {
    const found = await lists.listApps(person.id, listPages.requestOf(ctx))
    const apps = found.rows.map(({ clientId, clientName, clientOrigin, site, scopes, ...use }) => ({
      name: clientName,
      kind: kindOfOrigin(clientOrigin),
      siteName: site?.name,
      removeHref: `${pages.removeApp}?${new URLSearchParams({ client: clientId, site: site?.id ?? '' })}`,
      ...describeScopes(scopes, scopeUses),
      ...use,
    }))
    const done = noticeOf(ctx, {
      removed: 'The application was removed. It has no access any more.',
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
      // The answer does not tell a grant of another person from one that is gone or never was.
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

/** What a connected client is called, by its origin at the time when it was connected. */
function kindOfOrigin(origin: string): ClientView['kind'] {
  // Nothing was checked of a client of any other origin.
  return kinds.get(origin) ?? 'self-declared'
}
