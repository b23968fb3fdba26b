import type Router from 'koa-router'

import { betaPage } from '../../../views/admin-beta.ts'
import { adminHomePage, adminSitesPage } from '../../../views/admin-home.ts'
import { measures, overviewPage } from '../../../views/admin-overview.ts'
import { confirmPage } from '../../../views/area.ts'
import { html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import {
  listOperatedSites,
  MCP_CONNECTIONS,
  SELF_SIGN_UP,
  switchFeature,
} from '../../directory/sites/site-admin.ts'
import { notAnOperator } from '../../platform/http/errors.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { makeOverviews, OVERVIEW_PERIODS, type Overviews } from '../../school/analytics/overview.ts'
import { answerInArea } from '../relying-party/area-answer.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { sendCsv } from './downloads.ts'
import type { OperatorPages } from './operator-pages.ts'
import { readSiteState } from './site-state.ts'
import { patternsOf } from './stop-and-secret-routes.ts'

/** Registers the page that lists an operator's sites, and the home, overview and *Beta features* pages of each site. */
export function siteRoutes(router: Router, operatorPages: OperatorPages, parts: AdminParts): void {
  const { signedInPages, database, now } = parts
  const overviewOf = makeOverviews(database, now)

  router.get(
    pages.admin,
    signedInPages.page(async (ctx, session) => {
      // A client that asks for approval does not know the site, so the operator chooses the site.
      const client = new URLSearchParams(ctx.querystring).get('approve')
      const operated = await listOperatedSites(database, session.person.id)
      const sites = operated.map((site) => ({
        name: site.name,
        href: client
          ? `${addressOf(pages.approveDocumentClient, { site: nameOfSite(site) })}?${new URLSearchParams({ client })}`
          : addressOf(pages.site, { site: nameOfSite(site) }),
      }))
      const [only, second] = sites
      if (!only) throw notAnOperator()
      if (!second) return only.href
      const area = { name: text('adminNav.title'), entries: [], look: undefined }
      return answerInArea(ctx, session, area, adminSitesPage({ sites }))
    }),
  )

  homeRoutes(operatorPages, parts, overviewOf)
  overviewRoutes(operatorPages, parts, overviewOf)

  operatorPages.page(pages.beta, ({ site, address }) =>
    betaPage({
      onSince: site.mcpConnectionsOnSince,
      switchOnAction: address(pages.betaOn),
      switchOffHref: address(pages.betaOff),
    }),
  )
  operatorPages.page(pages.betaOff, ({ site, address }) =>
    confirmPage({
      id: 'switch-off-page',
      title: text('beta.offTitle'),
      effect: text('beta.offText', { site: html`<bdi>${site.name}</bdi>` }),
      confirm: text('beta.confirmOff'),
      cancelHref: address(pages.beta),
    }),
  )
  for (const word of ['on', 'off'] as const) {
    const pattern = word === 'on' ? pages.betaOn : pages.betaOff
    operatorPages.form(pattern, async ({ site, actor, address }) => {
      const change = { siteId: site.id, feature: MCP_CONNECTIONS, on: word === 'on' } as const
      await switchFeature(database, change, actor)
      return `${address(pages.beta)}?done=${word}`
    })
  }
}

/** Registers the page that shows a site's statistics, and the route for downloading them. */
function overviewRoutes(operatorPages: OperatorPages, parts: AdminParts, overviewOf: Overviews) {
  const askedDays = (ctx: PageContext) =>
    OVERVIEW_PERIODS.find((days) => `${days}` === ctx.query['days'])
  operatorPages.page(pages.overview, async ({ site, address }, ctx) => {
    const overview = await overviewOf(site.id, askedDays(ctx))
    const measure = measures.find((name) => name === ctx.query['measure']) ?? 'calls'
    const latest = measure === 'refusals' ? await parts.refusals.list('app.site_id', site.id) : []
    const hasPage = (kind: string) =>
      kind === 'resource_server' || site.mcpConnectionsOnSince !== undefined
    return overviewPage({
      ...overview,
      measure,
      latest: latest.map(({ kind, clientId: client, ...refusal }) => ({
        ...refusal,
        href: hasPage(kind) ? address(patternsOf[kind].refusals, { client }) : undefined,
      })),
      periods: OVERVIEW_PERIODS,
      siteHref: address(pages.site),
    })
  })
  operatorPages.page(
    pages.overviewDownload,
    async ({ site }, ctx) =>
      await sendCsv(ctx, 'analytics', (await overviewOf(site.id, askedDays(ctx))).days),
  )
}

/** Registers a site's home page, and its form that switches self sign-up on or off. Only owners may use the form. */
function homeRoutes(operatorPages: OperatorPages, parts: AdminParts, overviewOf: Overviews): void {
  const { database, baseUrl } = parts
  operatorPages.page(pages.site, async (operator) => {
    const { site, address } = operator
    return adminHomePage({
      siteName: site.name,
      isOn: site.mcpConnectionsOnSince !== undefined,
      figures: await overviewOf(site.id),
      state: await readSiteState(operator, parts),
      memberAddress: baseUrl + addressOf(pages.connect, { site: site.slug }),
      href: address(pages.site),
      signUpHref: address(pages.signUp),
      hasSelfSignUp: site.hasSelfSignUp,
      isOwner: site.roles.includes('owner'),
    })
  })
  operatorPages.ofOwners.freshForm(
    pages.selfSignUp,
    pages.site,
    async ({ site, actor, address }, ctx) => {
      const on = formField(ctx, 'on') === 'yes'
      await switchFeature(database, { siteId: site.id, feature: SELF_SIGN_UP, on }, actor)
      return `${address(pages.site)}?done=${on ? 'on' : 'off'}`
    },
  )
}
