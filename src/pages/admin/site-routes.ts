import type Router from 'koa-router'

import {
  adminHomePage,
  adminSitesPage,
  betaPage,
  switchOffPage,
} from '../../../views/admin-home.ts'
import { listOperatedSites, switchMcpConnections } from '../../directory/sites/site-admin.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/audit-log.ts'
import { notAnOperator } from '../../platform/http/errors.ts'
import { noticeOf, seeOther, sendPage } from '../../platform/http/page.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Database } from '../../platform/store/database.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** The way to a site, its first page and its beta features. */
export function siteRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { signedInPages, database, documents } = parts

  router.get(
    pages.admin,
    signedInPages.page(async (ctx, { person, csrf }) => {
      const sites = await listOperatedSites(database, person.id)
      const [only, second] = sites
      if (!only) throw notAnOperator()
      if (!second) return seeOther(ctx, addressOf(pages.site, { site: nameOfSite(only) }))
      const links = [{ href: pages.account, label: 'Your account', current: false }]
      const page = adminSitesPage({
        area: { name: 'Administration', links, signOutAction: pages.signOut, person, csrf },
        sites: sites.map((site) => ({
          name: site.name,
          href: addressOf(pages.site, { site: nameOfSite(site) }),
        })),
      })
      sendPage(ctx, page)
    }),
  )

  router.get(
    pages.site,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const on = site.mcpConnectionsOnSince !== undefined
      const page = adminHomePage({
        area,
        siteName: site.name,
        betaHref: address(pages.beta),
        assistantsHref: address(pages.assistants),
        applicationsHref: on ? address(pages.applications) : undefined,
        documentClientsHref: documents && address(pages.documentClients),
        overviewHref: address(pages.overview),
        auditHref: address(pages.audit),
        queriesHref: address(pages.queries),
        resourceServersHref: address(pages.resourceServers),
      })
      sendPage(ctx, page)
    }),
  )

  betaRoutes(router, operatorPages, parts)
  return router
}

function betaRoutes(router: Router, operatorPages: OperatorPages, { database }: AdminParts): void {
  router.get(
    pages.beta,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const page = betaPage({
        area,
        siteName: site.name,
        onSince: site.mcpConnectionsOnSince,
        switchOnAction: address(pages.betaOn),
        switchOffHref: address(pages.betaOff),
        applicationsHref: address(pages.applications),
        assistantsHref: address(pages.assistants),
        done: noticeOf(ctx, {
          on: 'MCP connections is on. You find OAuth applications in the navigation now.',
          off: 'MCP connections is off. Every application of the site has stopped.',
        }),
      })
      sendPage(ctx, page)
    }),
  )
  router.get(
    pages.betaOff,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const [action, cancelHref] = [address(pages.betaOff), address(pages.beta)]
      sendPage(ctx, switchOffPage({ area, siteName: site.name, action, cancelHref }))
    }),
  )
  for (const word of ['on', 'off'] as const) {
    router.post(
      word === 'on' ? pages.betaOn : pages.betaOff,
      operatorPages.form(async (ctx, { site, actor, address }) => {
        await switchWithAudit(database, { siteId: site.id, on: word === 'on', actor })
        seeOther(ctx, `${address(pages.beta)}?done=${word}`)
      }),
    )
  }
}

interface Switch {
  readonly siteId: string
  readonly on: boolean
  readonly actor: Actor
}

/** Switches MCP connections of a site, with its line in the audit trail. */
async function switchWithAudit({ kysely }: Database, { siteId, on, actor }: Switch) {
  await kysely.transaction().execute(async (trx) => {
    const changed = await switchMcpConnections(trx, siteId, on ? actor.now : undefined)
    if (!changed) return
    await recordAuditEvent(trx, actor, {
      action: on ? 'feature.on' : 'feature.off',
      subject: { kind: 'site', id: siteId },
      siteId,
      before: { mcpConnections: !on },
      after: { mcpConnections: on },
    })
  })
}
