import type Router from 'koa-router'

import { connectedAppsPage, removeAppPage } from '../../views/account-apps.ts'
import { makeForgetGrants } from '../grants/forget-tokens.ts'
import { type AppLine, makeGrantLists } from '../grants/grant-lists.ts'
import { removeApp } from '../grants/remove-app.ts'
import { nothingHere } from '../http/errors.ts'
import { formField } from '../http/form.ts'
import { noticeOf } from '../http/notice.ts'
import { listRequest, pagerOf } from '../relying-party/list-pages.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import { seeOther, sendPage } from '../relying-party/signed-in-pages.ts'
import { describeScopes } from '../scopes/scope-sentences.ts'
import { kindOfOrigin } from './app-kind.ts'
import { type AccountPorts, addresses, areaOf } from './area.ts'

/** Connected apps, and the removal of one. */
export function appRoutes(
  router: Router,
  { database, state, signedInPages, now }: AccountPorts,
): void {
  const lists = makeGrantLists(database, now)
  const forgetGrants = makeForgetGrants(state)
  router.get(
    addresses.apps,
    signedInPages.page(async (ctx, session) => {
      const { rows, next } = await lists.listApps(session.person.id, listRequest(ctx))
      const apps = rows.map(({ clientId, clientName, clientOrigin, site, scopes, ...use }) => ({
        name: clientName,
        kind: kindOfOrigin(clientOrigin),
        siteName: site?.name,
        removeHref: `${addresses.remove}?${lineQuery(clientId, site?.id)}`,
        ...describeScopes(scopes),
        ...use,
      }))
      const done = noticeOf(ctx, {
        removed: 'The application was removed. It has no access any more.',
      })
      const area = areaOf(session, addresses.apps)
      sendPage(ctx, connectedAppsPage({ area, apps, pager: pagerOf(ctx, next), done }))
    }),
  )
  router.get(
    addresses.remove,
    signedInPages.page(async (ctx, session) => {
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
    signedInPages.form(async (ctx, session) => {
      const line = lineOf(session, formField(ctx, 'client'), formField(ctx, 'site'))
      // What is somebody else's, or gone, or was never there, is answered alike.
      const ended = await removeApp(database, line, actorOf(ctx, session, now))
      if (ended.length === 0) throw nothingHere()
      await forgetGrants(ended)
      seeOther(ctx, `${addresses.apps}?done=removed`)
    }),
  )
}

function lineOf({ person }: PageSession, clientId: string, site: string): AppLine {
  return { personId: person.id, clientId, siteId: site === '' ? undefined : site }
}

function lineQuery(clientId: string, siteId: string | undefined): string {
  return new URLSearchParams({ client: clientId, site: siteId ?? '' }).toString()
}
