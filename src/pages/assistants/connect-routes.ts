/** The public pages that say how an assistant is connected. Which are admitted is the operators'. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { connectPage, connectSitePage } from '../../../views/connect.ts'
import type { Assistant } from '../../config/assistant-table.ts'
import { findLook } from '../../directory/sites/find-look.ts'
import { siteLook } from '../../directory/sites/site-look.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { seeOther, sendPublicPage } from '../../platform/http/page.ts'
import { addressOf, nameOfSite, pages, paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Database } from '../../platform/store/database.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import { memberSteps } from './connect-steps.ts'
import {
  assistantsReadyAt,
  type ConnectableSite,
  findConnectableSite,
  listConnectableSites,
} from './site-assistants.ts'

export interface ConnectPorts {
  readonly database: Database
  readonly baseUrl: string
  readonly assistants: readonly Assistant[]
  readonly listPages: ListPages
}

const SLUG_LENGTH_MAX = 80

/** /connect, the way to a site, and /connect/:site, the steps for its members. Nobody has to sign in. */
export function connectRoutes(ports: ConnectPorts): Router {
  const router = makeRouter()
  const { database, listPages } = ports

  router.get(pages.connectHome, async (ctx) => {
    const asked =
      new URLSearchParams(ctx.querystring).get('site')?.trim().toLowerCase() || undefined
    const known = asked && (await findSite(asked, database))
    if (known) return seeOther(ctx, addressOf(pages.connect, { site: known.slug }))
    if (asked !== undefined) ctx.status = 404
    const found = await listConnectableSites(database, listPages.requestOf(ctx))
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
    const site = await findSite(ctx.params['site'] ?? '', database)
    if (!site) throw nothingHere()
    const look = siteLook(await findLook(database, site.id))
    sendFresh(ctx, { ...sitePage(site, ports), look })
  })
  return router
}

async function findSite(slug: string, database: Database): Promise<ConnectableSite | undefined> {
  // Any other is nobody's, and PostgreSQL would fail at a NUL.
  if (slug.length > SLUG_LENGTH_MAX || !/^[\w-]+$/.test(slug)) return undefined
  return await findConnectableSite(database, slug)
}

/** What an operator has just admitted has to be there when the page is loaded again. */
function sendFresh(ctx: Context, page: Parameters<typeof sendPublicPage>[1]): void {
  sendPublicPage(ctx, page)
  ctx.set('Cache-Control', 'no-cache')
}

function sitePage(site: ConnectableSite, { assistants, baseUrl }: ConnectPorts) {
  const ready = assistantsReadyAt(site, assistants)
  const url = baseUrl + paths.mcpMember
  return connectSitePage({
    siteName: site.name,
    assistants: ready.map(({ assistant, application }) =>
      memberSteps(assistant, { site, application, url }),
    ),
    others: assistants
      .filter((each) => !ready.some(({ assistant }) => assistant === each))
      .map(({ name }) => name),
    operatorAddress: baseUrl + addressOf(pages.assistants, { site: nameOfSite(site) }),
    local: isLoopbackUrl(baseUrl),
    appsHref: pages.apps,
    look: undefined,
  })
}
