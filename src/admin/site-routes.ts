import Router from 'koa-router'

import { auditPage } from '../../views/admin-audit.ts'
import { adminHomePage, adminSitesPage, betaPage, switchOffPage } from '../../views/admin-home.ts'
import { type Actor, listChanges, recordAuditEvent } from '../audit/audit-log.ts'
import { notAnOperator } from '../http/errors.ts'
import { noticeOf } from '../http/notice.ts'
import { pages } from '../http/page-paths.ts'
import { listRequest, pagerOf } from '../relying-party/list-pages.ts'
import { seeOther, sendPage } from '../relying-party/signed-in-pages.ts'
import { listOperatedSites, switchMcpConnections } from '../sites/site-admin.ts'
import type { Database } from '../store/database.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

const SITE = `${pages.admin}/:site`

/** The way to a site, its overview, its beta features and its audit trail. */
export function siteRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = new Router()
  const { signedInPages, database, documents } = parts

  router.get(
    pages.admin,
    signedInPages.page(async (ctx, { person, csrf }) => {
      const sites = await listOperatedSites(database, person.id)
      const [only, second] = sites
      if (!only) throw notAnOperator()
      if (!second) return seeOther(ctx, `${pages.admin}/${only.slug}`)
      const links = [{ href: pages.account, label: 'Your account', current: false }]
      const page = adminSitesPage({
        area: { name: 'Administration', links, person, csrf },
        sites: sites.map(({ name, slug }) => ({ name, href: `${pages.admin}/${slug}` })),
      })
      sendPage(ctx, page)
    }),
  )

  router.get(
    SITE,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const on = site.connectionsOnSince !== undefined
      const page = adminHomePage({
        area,
        siteName: site.name,
        betaHref: address('beta'),
        applicationsHref: on ? address('applications') : undefined,
        documentClientsHref: documents && address('self-declared-clients'),
        auditHref: address('audit'),
      })
      sendPage(ctx, page)
    }),
  )

  router.get(
    `${SITE}/audit`,
    operatorPages.page(async (ctx, { area, site }) => {
      const { rows, next } = await listChanges(database, site.id, listRequest(ctx))
      const page = auditPage({
        area,
        siteName: site.name,
        entries: rows.map((entry) => ({
          ...entry,
          before: factsOf(entry.before),
          after: factsOf(entry.after),
        })),
        pager: pagerOf(ctx, next),
      })
      sendPage(ctx, page)
    }),
  )
  betaRoutes(router, operatorPages, parts)
  return router
}

/** What the audit trail keeps as JSON, as names and values. */
function factsOf(json: string | undefined): { name: string; value: string }[] | undefined {
  if (json === undefined) return undefined
  const facts: Record<string, unknown> = JSON.parse(json)
  return Object.entries(facts).map(([name, value]) => ({
    name,
    value: [value].flat().map(String).join(', '),
  }))
}

function betaRoutes(router: Router, operatorPages: OperatorPages, { database }: AdminParts): void {
  router.get(
    `${SITE}/beta`,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const page = betaPage({
        area,
        siteName: site.name,
        onSince: site.connectionsOnSince,
        switchOnAction: address('beta', 'on'),
        switchOffHref: address('beta', 'off'),
        applicationsHref: address('applications'),
        done: noticeOf(ctx, {
          on: 'MCP connections is on. You find OAuth applications in the navigation now.',
          off: 'MCP connections is off. Every application of the site has stopped.',
        }),
      })
      sendPage(ctx, page)
    }),
  )
  router.get(
    `${SITE}/beta/off`,
    operatorPages.page(async (ctx, { area, site, address }) => {
      const [action, cancelHref] = [address('beta', 'off'), address('beta')]
      sendPage(ctx, switchOffPage({ area, siteName: site.name, action, cancelHref }))
    }),
  )
  for (const word of ['on', 'off'] as const) {
    router.post(
      `${SITE}/beta/${word}`,
      operatorPages.form(async (ctx, { site, actor, address }) => {
        await switchWithAudit(database, { siteId: site.id, on: word === 'on', actor })
        seeOther(ctx, `${address('beta')}?done=${word}`)
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
