/** Serves the public pages with the steps to connect an assistant. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { connectPage, connectSitePage } from '../../../views/connect.ts'
import type { SiteLook } from '../../../views/site-look.ts'
import type { Assistant } from '../../config/assistant-table.ts'
import { listPublicSites } from '../../directory/sites/public-sites.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/site-admin.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { seeOther, sendPublicPage } from '../../platform/http/page.ts'
import { addressOf, nameOfSite, pages, paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { listAssistantApplications } from '../applications/application-lists.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'
import { canReturnTo, memberSteps } from './connect-steps.ts'

const SLUG_LENGTH_MAX = 80

type Database = OwnPages['database']

/** Creates /connect, which lists public sites, and /connect/:site, which shows the steps for the members of a site. */
export function connectRoutes(ownPages: OwnPages, assistants: readonly Assistant[]): Router {
  const router = makeRouter()
  const { database, baseUrl, listPages, now } = ownPages

  router.get(pages.connectHome, async (ctx) => {
    const asked =
      new URLSearchParams(ctx.querystring).get('site')?.trim().toLowerCase() || undefined
    const known = asked && (await findConnectableSite(database, asked))
    if (known) return seeOther(ctx, addressOf(pages.connect, { site: known.slug }))
    if (asked !== undefined) ctx.status = 404
    const question = { words: undefined, nowMs: now() }
    const found = await listPublicSites(database, question).page(listPages.requestOf(ctx))
    const page = connectPage({
      sites: found.rows.map(({ name, slug }) => ({
        ...{ name, slug },
        href: addressOf(pages.connect, { site: slug }),
      })),
      pager: listPages.pagerOf(ctx, found),
      action: pages.connectHome,
      unknown: asked?.slice(0, SLUG_LENGTH_MAX),
      adminHref: pages.admin,
      appsHref: pages.apps,
    })
    sendFresh(ctx, page)
  })

  router.get(pages.connect, async (ctx) => {
    const site = await findConnectableSite(database, ctx.params['site'] ?? '')
    if (!site) throw nothingHere()
    const look = siteLook(ctx, await findLook(database, site.id))
    sendFresh(ctx, sitePage(site, assistants, { baseUrl, look }))
  })
  return router
}

/** Sends the page with `no-cache`, so a reload shows new assistants. */
function sendFresh(ctx: Context, page: Parameters<typeof sendPublicPage>[1]): void {
  sendPublicPage(ctx, page)
  ctx.set('Cache-Control', 'no-cache')
}

function sitePage(
  site: ConnectableSite,
  assistants: readonly Assistant[],
  { baseUrl, look }: { readonly baseUrl: string; readonly look: SiteLook | undefined },
) {
  // Omit assistants that have no application, or whose application lacks a scope or a callback that they can use.
  const ready = assistants.flatMap((assistant) => {
    const application = site.applications.find((each) => each.assistant === assistant.id)
    const isReady = application?.scopes.length && canReturnTo(assistant, application)
    return isReady ? [{ assistant, application }] : []
  })
  const url = baseUrl + paths.mcpMember
  return connectSitePage({
    siteName: site.name,
    assistants: ready.map(({ assistant, application }) =>
      memberSteps(assistant, site, application, url),
    ),
    others: assistants
      .filter((each) => !ready.some(({ assistant }) => assistant === each))
      .map(({ name }) => name),
    operatorAddress: baseUrl + addressOf(pages.assistants, { site: nameOfSite(site) }),
    local: isLoopbackUrl(baseUrl),
    appsHref: pages.apps,
    look,
  })
}

type ConnectableSite = NonNullable<Awaited<ReturnType<typeof findConnectableSite>>>

/** Finds a site by slug, with its enabled assistant applications. The list is empty while MCP connections are off. */
async function findConnectableSite({ kysely }: Database, slug: string) {
  // Check the slug first, because PostgreSQL raises an error on NUL instead of matching no row.
  if (slug.length > SLUG_LENGTH_MAX || !/^[\w-]+$/.test(slug)) return undefined
  const site = await kysely
    .selectFrom('site')
    .leftJoin('site_feature as f', (join) =>
      join.onRef('f.site_id', '=', 'site.id').on('f.feature', '=', MCP_CONNECTIONS),
    )
    .select(['site.id', 'site.slug', 'site.name', 'f.enabled_at as onSince'])
    .where('site.slug', '=', slug)
    .executeTakeFirst()
  if (!site) return undefined
  const { id, name, onSince } = site
  const listed = onSince === null ? [] : await listAssistantApplications(kysely, id)
  const applications = listed.filter(({ isDisabled }) => !isDisabled)
  return { id, slug, name, applications }
}
