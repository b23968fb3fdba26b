/** Serves the start page of the account, and its pages for apps, notifications and queries. */

import { connectedAppsPage } from '../../../views/account-apps.ts'
import { accountHomePage } from '../../../views/account-home.ts'
import { notificationsPage } from '../../../views/account-notifications.ts'
import { confirmPage } from '../../../views/area.ts'
import { foreignName, kindOfOrigin } from '../../../views/client-view.ts'
import { html } from '../../../views/html.ts'
import { availableLanguage, languages, siteLanguages, text } from '../../../views/text.ts'
import { setLanguage } from '../../directory/people/person-store.ts'
import { describeScopes } from '../../directory/scopes/scope-uses.ts'
import { findSiteNames, makeFindHeldSites, operates } from '../../directory/sites/site-choice.ts'
import { type AppLine, removeApp } from '../../oauth/grants/end-grants.ts'
import { makeGrantLists } from '../../oauth/grants/grant-lists.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { keepZone } from '../../platform/http/language.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { inboxData } from '../../school/viewer/notifications.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { AccountPages } from './account-pages.ts'
import { type MemberQueries, memberQueryRoutes } from './query-routes.ts'

/** Registers the account pages: home, connected apps, notifications, and Member API queries. */
export function accountRoutes(accountPages: AccountPages, queries: MemberQueries): void {
  const { database } = accountPages
  accountPages.page(pages.account, async ({ look, session: { person } }) => {
    const nameOf = await findSiteNames(database, person.id)
    const [own, offered] = [availableLanguage([person.locale]), siteLanguages(look?.languages)]
    const sites = await makeFindHeldSites(database)(person.id)
    return accountHomePage({
      person,
      sites: sites.map((site) => ({
        name: nameOf(site),
        roles: site.roles,
        adminHref: operates(site.roles)
          ? addressOf(pages.site, { site: nameOfSite(site) })
          : undefined,
        connectHref: addressOf(pages.connect, { site: site.slug }),
      })),
      hrefs: pages,
      language: own,
      // Offer the person's language even if the site does not offer it, so that saving a time zone keeps the language.
      languages: languages.filter((each) => each === own || offered.includes(each)),
    })
  })
  accountPages.form(pages.language, async ({ ctx, actor }) => {
    keepZone(ctx, formField(ctx, 'zone'))
    const chosen = formField(ctx, 'language')
    const language = chosen === '' ? null : availableLanguage([chosen])
    // Ignore an unknown language, just as an unknown time zone is ignored.
    if (language !== undefined) await setLanguage(database, language, actor)
    return `${pages.account}?done=saved`
  })
  appRoutes(accountPages)
  notificationRoutes(accountPages)
  memberQueryRoutes(accountPages, queries)
}

/** Registers the pages that list and remove connected apps. */
function appRoutes({ database, listPages, scopeUses, now, page, form }: AccountPages): void {
  const lists = makeGrantLists(database, now)
  page(pages.apps, async ({ session: { person }, ctx }) => {
    const found = await lists.listApps(person.id, listPages.requestOf(ctx))
    const nameOf = await findSiteNames(database, person.id)
    const apps = found.rows.map(({ clientId, clientName, clientOrigin, site, scopes, ...use }) => ({
      name: clientName,
      // The grant keeps the origin that the client had when the person connected it.
      kind: kindOfOrigin.get(clientOrigin) ?? 'self-declared',
      siteName: site && nameOf(site),
      removeHref: `${pages.removeApp}?${new URLSearchParams({ client: clientId, site: site?.id ?? '' })}`,
      ...describeScopes(scopes, scopeUses),
      ...use,
    }))
    const pager = listPages.pagerOf(ctx, found)
    return connectedAppsPage({ apps, pager, connectHref: pages.connectHome })
  })
  page(pages.removeApp, async ({ session, ctx }) => {
    const query = new URLSearchParams(ctx.querystring)
    const [client, site] = [query.get('client') ?? '', query.get('site') ?? '']
    const app = await lists.findApp(appLineOf(session, client, site))
    if (!app) throw nothingHere()
    const nameOf = await findSiteNames(database, session.person.id)
    const name = foreignName(app.clientName)
    const at = app.siteName && html`<bdi>${nameOf({ id: site, name: app.siteName })}</bdi>`
    const ends = text(at ? 'apps.endsAtSite' : 'apps.ends', { app: name, site: at })
    return confirmPage({
      id: 'remove-app-page',
      title: text('apps.removeHeading', { app: html`<bdi>${app.clientName}</bdi>` }),
      effect: html`${ends}\n${text('apps.stays')}`,
      confirm: text('apps.confirm'),
      hidden: { client, site },
      cancelHref: pages.apps,
    })
  })
  form(pages.removeApp, async ({ session, actor, ctx }) => {
    const line = appLineOf(session, formField(ctx, 'client'), formField(ctx, 'site'))
    // The response is the same for an unknown client and for a client that only other people connected.
    const ended = await removeApp(database, line, actor)
    if (ended.length === 0) throw nothingHere()
    return `${pages.apps}?done=removed`
  })
}

function appLineOf({ person }: PageSession, clientId: string, site: string): AppLine {
  return { personId: person.id, clientId, siteId: site === '' ? undefined : site }
}

/** Registers the page on which a person chooses which notifications to receive from each site. */
function notificationRoutes({ database, now, page, form }: AccountPages): void {
  const inbox = inboxData(database, now)
  const findSites = makeFindHeldSites(database)
  const listOf = async (personId: string) => {
    const nameOf = await findSiteNames(database, personId)
    return await Promise.all(
      (await findSites(personId)).map(async (site) => {
        const membership = { personId, siteId: site.id }
        const name = nameOf(site)
        return { name, membership, subscriptions: await inbox.listSubscriptions(membership) }
      }),
    )
  }
  page(pages.notifications, async ({ session: { person } }) =>
    notificationsPage({ sites: await listOf(person.id) }),
  )
  form(pages.notifications, async ({ session: { person }, ctx }) => {
    const chosen = new Set(formFields(ctx, 'subscription'))
    for (const { membership, subscriptions } of await listOf(person.id)) {
      for (const { id, enabledAt } of subscriptions) {
        const enabled = chosen.has(id)
        if (enabled !== (enabledAt !== null))
          await inbox.updateSubscription(membership, { id, enabled })
      }
    }
    return `${pages.notifications}?done=saved`
  })
}
