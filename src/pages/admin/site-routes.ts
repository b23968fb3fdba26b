import type Router from 'koa-router'

import { betaPage, switchOffPage } from '../../../views/admin-beta.ts'
import { adminHomePage, adminSitesPage } from '../../../views/admin-home.ts'
import { measures, overviewPage } from '../../../views/admin-overview.ts'
import { maxAges, twoFactorsPage } from '../../../views/admin-two-factors.ts'
import { text } from '../../../views/text.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { EVERYTHING } from '../../directory/scopes/sensitive-operations.ts'
import {
  FACTOR_RESET,
  hasFeature,
  listOperatedSites,
  MCP_CONNECTIONS,
  SELF_SIGN_UP,
  setAssuranceDemand,
  switchFeature,
} from '../../directory/sites/site-admin.ts'
import { notAnOperator } from '../../platform/http/errors.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { makeOverviews, OVERVIEW_PERIODS, type Overviews } from '../../school/analytics/overview.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { sendCsv } from './downloads.ts'
import type { OperatorPages } from './operator-pages.ts'
import { readSiteState } from './site-state.ts'
import { patternsOf } from './stop-and-secret-routes.ts'

/** Registers the page that lists an operator's sites, and the home, overview and Beta features pages of each site. */
export function siteRoutes(router: Router, operatorPages: OperatorPages, parts: AdminParts): void {
  const { signedInPages, database, now } = parts
  const overviewOf = makeOverviews(database, now)

  router.get(
    pages.admin,
    signedInPages.page(async (ctx, { person, csrf }) => {
      // A client that asks for approval does not know the site, so the operator chooses the site.
      const client = new URLSearchParams(ctx.querystring).get('approve')
      const operated = await listOperatedSites(database, person.id)
      const sites = operated.map((site) => ({
        name: site.name,
        href: client
          ? `${addressOf(pages.approveDocumentClient, { site: nameOfSite(site) })}?${new URLSearchParams({ client })}`
          : addressOf(pages.site, { site: nameOfSite(site) }),
      }))
      const [only, second] = sites
      if (!only) throw notAnOperator()
      if (!second) return only.href
      const area = {
        name: text('adminNav.title'),
        groups: [],
        accountHref: pages.account,
        signOutAction: pages.signOut,
        person,
        csrf,
      }
      return adminSitesPage({ area, sites })
    }),
  )

  homeRoutes(operatorPages, parts, overviewOf)
  overviewRoutes(operatorPages, parts, overviewOf)
  twoFactorRoutes(operatorPages, parts)

  operatorPages.page(pages.beta, ({ area, site, address }, ctx) =>
    betaPage({
      area,
      onSince: site.mcpConnectionsOnSince,
      switchOnAction: address(pages.betaOn),
      switchOffHref: address(pages.betaOff),
      done: noticeOf(ctx, { on: text('beta.done.on'), off: text('beta.done.off') }),
    }),
  )
  operatorPages.page(pages.betaOff, ({ area, site, address }) => {
    const [action, cancelHref] = [address(pages.betaOff), address(pages.beta)]
    return switchOffPage({ area, siteName: site.name, action, cancelHref })
  })
  for (const word of ['on', 'off'] as const) {
    const pattern = word === 'on' ? pages.betaOn : pages.betaOff
    operatorPages.form(pattern, async ({ site, actor, address }) => {
      const change = { siteId: site.id, feature: MCP_CONNECTIONS, on: word === 'on' } as const
      await switchFeature(database, change, actor)
      return `${address(pages.beta)}?done=${word}`
    })
  }
}

/** Registers the page that shows the figures of a site, and the download of the figures. */
function overviewRoutes(operatorPages: OperatorPages, parts: AdminParts, overviewOf: Overviews) {
  const askedDays = (ctx: PageContext) =>
    OVERVIEW_PERIODS.find((days) => `${days}` === ctx.query['days'])
  operatorPages.page(pages.overview, async ({ area, site, address }, ctx) => {
    const overview = await overviewOf(site.id, askedDays(ctx))
    const measure = measures.find((name) => name === ctx.query['measure']) ?? 'calls'
    const latest = measure === 'refusals' ? await parts.refusals.list('app.site_id', site.id) : []
    return overviewPage({
      ...overview,
      area,
      measure,
      latest: latest.map(({ kind, clientId: client, ...refusal }) => ({
        ...refusal,
        href: address(patternsOf[kind].refusals, { client }),
      })),
      periods: OVERVIEW_PERIODS,
      path: ctx.path,
      downloadHref: `${address(pages.overviewDownload)}?days=${overview.days.length}`,
      assistantsHref: address(pages.assistants),
    })
  })
  operatorPages.page(
    pages.overviewDownload,
    async ({ site }, ctx) =>
      await sendCsv(ctx, 'analytics', (await overviewOf(site.id, askedDays(ctx))).days),
  )
}

/** Registers the home page of a site, and its form for self sign-up. Only owners may use the form. */
function homeRoutes(operatorPages: OperatorPages, parts: AdminParts, overviewOf: Overviews): void {
  const { database, baseUrl } = parts
  operatorPages.page(pages.site, async (operator, ctx) => {
    const { area, site, address } = operator
    return adminHomePage({
      area,
      siteName: site.name,
      isOn: site.mcpConnectionsOnSince !== undefined,
      figures: await overviewOf(site.id),
      state: await readSiteState(database, operator, parts),
      memberAddress: baseUrl + addressOf(pages.connect, { site: site.slug }),
      hrefs: {
        appearance: address(pages.appearance),
        applications: address(pages.applications),
        assistants: address(pages.assistants),
        beta: address(pages.beta),
        documentClients: address(pages.documentClients),
        identityProviders: address(pages.identityProviders),
        overview: address(pages.overview),
        people: address(pages.members),
      },
      selfSignUp: {
        isOn: site.hasSelfSignUp,
        signUpHref: address(pages.signUp),
        action: site.roles.includes('owner') ? address(pages.selfSignUp) : undefined,
      },
      done: noticeOf(ctx, { on: text('adminHome.signUpOn'), off: text('adminHome.signUpOff') }),
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

/**
 * Registers the page on which an owner makes two factors mandatory for operators. Opening the page requires two
 * factors, so owners cannot lock themselves out.
 */
function twoFactorRoutes(operatorPages: OperatorPages, { database }: AdminParts): void {
  const areas = [...new Set(scopeNames('operator').map((scope) => scope.split(':')[0] ?? ''))]
  const { freshPage, freshForm } = operatorPages.ofOwners
  freshPage(pages.twoFactors, async ({ area, site, address }, ctx) => {
    const { assuranceDemand: demand } = site
    const action = address(pages.twoFactors)
    const done = noticeOf(ctx, { saved: text('demand.saved') })
    const isAll = demand?.areas.includes(EVERYTHING) ?? false
    const hasReset = await hasFeature(database, site.id, FACTOR_RESET)
    return twoFactorsPage({ area, demand, isAll, areas, hasReset, action, done })
  })
  freshForm(pages.twoFactors, pages.twoFactors, async (operator, ctx) => {
    const { site, actor, address } = operator
    const isChosen = (seconds: number) => `${seconds}` === formField(ctx, 'max-age')
    const maxAgeSeconds = maxAges.find(isChosen) || undefined
    const chosen = areas.filter((area) => formFields(ctx, 'area').includes(area))
    const isOn = formField(ctx, 'for') !== 'nothing'
    const covered = formField(ctx, 'for') === 'everything' ? [EVERYTHING] : chosen
    const demand = isOn ? { areas: covered, maxAgeSeconds } : undefined
    await setAssuranceDemand(database, site.id, demand, actor)
    const on = formField(ctx, 'reset') === 'yes'
    await switchFeature(database, { siteId: site.id, feature: FACTOR_RESET, on }, actor)
    return `${address(pages.twoFactors)}?done=saved`
  })
}
