import type Router from 'koa-router'

import type { AreaEntry } from '../../../views/area.ts'
import { text } from '../../../views/text.ts'
import { MFA_ACR } from '../../directory/people/authentication.ts'
import { EVERYTHING } from '../../directory/scopes/sensitive-operations.ts'
import { type AdminSite, findAdminSite } from '../../directory/sites/site-admin.ts'
import { operates } from '../../directory/sites/site-choice.ts'
import { notAnOperator, notAnOwner, nothingHere, signedOut } from '../../platform/http/errors.ts'
import { prefer } from '../../platform/http/language.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import type { ApplicationKind } from '../../platform/store/oauth-tables.ts'
import { ChangeRefused } from '../../school/changes/refusals.ts'
import type { CheckedApplication } from '../applications/application-form.ts'
import { type Application, findApplication } from '../applications/application-lists.ts'
import { type Answer, answerInArea } from '../relying-party/area-answer.ts'
import { type PageSession, pageActor } from '../relying-party/page-session.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'

/** A signed-in operator, with the site that the URL names. */
export type Operator = Awaited<ReturnType<typeof operatorOf>>

/** Handles an operator's request to open a page of the site or to submit a form on it. */
type OperatorHandler = (operator: Operator, ctx: PageContext) => Answer | Promise<Answer>

/** Handles an operator's request to open a page of an application or to submit a form on it. */
type ApplicationHandler = (
  app: Application,
  operator: Operator,
  ctx: PageContext,
) => Answer | Promise<Answer>

export type OperatorPages = ReturnType<typeof makeOperatorPages>

/** Creates the functions that declare a site's pages. Only owners and admins of the site can open these pages. */
export function makeOperatorPages(router: Router, parts: AdminParts) {
  const { signedInPages, database } = parts
  const declaring = <Handler>(enter: (handler: Handler) => OperatorHandler) => {
    /** @param shownAt for a form: the page to open if the person must sign in again first, which discards the input */
    const entering =
      (pattern: string, handler: Handler, { needsFresh = never, shownAt }: Entry = {}) =>
      async (ctx: PageContext, session: PageSession) => {
        const operator = await operatorOf(ctx, session, parts)
        const isFresh = await needsFresh(operator, ctx)
        const needsMfa = pattern === pages.twoFactors || demandsMfa(operator.site, isFresh)
        const acr = needsMfa ? MFA_ACR : undefined
        const suffices = (!isFresh || signedInPages.isFresh(session)) && reaches(session, acr)
        if (suffices) {
          const answer = await Promise.try(enter(handler), operator, ctx).catch(refuseFormer)
          return answerInArea(ctx, session, operatorArea(operator, parts), answer)
        }
        const returnTo = shownAt?.(operator, ctx) ?? ctx.url
        return await signedInPages.signInAgain(ctx, session, returnTo, acr)
      }
    return {
      page(pattern: string, show: Handler): void {
        router.get(pattern, signedInPages.page(entering(pattern, show)))
      },
      /** Declares a form. Its CSRF token is checked before `answer` is called. */
      form(pattern: string, answer: Handler): void {
        router.post(pattern, signedInPages.form(entering(pattern, answer, { shownAt: home })))
      },
      /** Declares a page that requires a recent sign-in. If the sign-in is older, the person must sign in again. */
      freshPage(pattern: string, show: Handler): void {
        router.get(pattern, signedInPages.page(entering(pattern, show, { needsFresh: always })))
      },
      /**
       * Declares a form that requires a recent sign-in, if `needsFresh` says so. After signing in again, the person
       * continues at `shownAt`.
       */
      freshForm(
        pattern: string,
        shownAt: string | ShownAt,
        answer: Handler,
        needsFresh: Needs = always,
      ): void {
        const at: ShownAt =
          typeof shownAt === 'string' ? ({ address }) => address(shownAt) : shownAt
        const entry = { needsFresh, shownAt: at }
        router.post(pattern, signedInPages.form(entering(pattern, answer, entry)))
      },
    }
  }
  return {
    ...declaring<OperatorHandler>((handler) => handler),
    /** Declares pages that only owners can open. */
    ofOwners: declaring<OperatorHandler>((handler) => async (operator, ctx) => {
      if (!operator.site.roles.includes('owner')) throw notAnOwner()
      return await handler(operator, ctx)
    }),
    /** Declares the handler for requests that scripts on these pages send. */
    script(pattern: string, answer: (operator: Operator, ctx: PageContext) => Promise<void>): void {
      const entering = async (ctx: PageContext, session: PageSession) => {
        const operator = await operatorOf(ctx, session, parts)
        if (demandsMfa(operator.site) && !reaches(session, MFA_ACR)) throw signedOut()
        await answer(operator, ctx)
      }
      router.post(pattern, signedInPages.script(entering))
    },
    /** Declares pages that redirect to the page *Beta features* while the feature *MCP connections* is off. */
    whereOn: declaring(ifOn),
    /** Declares pages of the application that the URL names. They respond with 404 if it does not exist. */
    of: (kind: ApplicationKind) =>
      declaring<ApplicationHandler>((handler) => {
        const found: OperatorHandler = async (operator, ctx) => {
          const clientId = ctx.params['client'] ?? ''
          const app = await findApplication(database.kysely, operator.site.id, clientId, kind)
          if (!app) throw nothingHere()
          return await handler(app, operator, ctx)
        }
        // The beta feature *MCP connections* does not affect resource servers, which only check tokens.
        return kind === 'site' ? ifOn(found) : found
      }),
  }
}

/**
 * Lets only owners create, edit or enable an application that acts for an owner, or add a secret to it. An admin
 * who controls its secret and callback would gain the access of an owner. Admins may disable or delete it.
 *
 * @throws notAnOwner
 */
export function mustOwn(
  { isOperator = false }: Pick<CheckedApplication, 'isOperator'>,
  { site }: Operator,
) {
  if (isOperator && !site.roles.includes('owner')) throw notAnOwner()
}

/** Rethrows the error of a handler. @throws notAnOperator if the person lost the role after the page had checked it */
function refuseFormer(error: unknown): never {
  throw error instanceof ChangeRefused && error.code === 'FORBIDDEN' ? notAnOperator() : error
}

type Needs = (operator: Operator, ctx: PageContext) => Promise<boolean>
type ShownAt = (operator: Operator, ctx: PageContext) => string

const home: ShownAt = ({ address }) => address(pages.site)
const always: Needs = async () => true
const never: Needs = async () => false

interface Entry {
  readonly needsFresh?: Needs
  readonly shownAt?: ShownAt
}

/** Whether the site requires two factors for a page. @param isSensitive whether the page requires a recent sign-in */
function demandsMfa({ assuranceDemand: demand }: AdminSite, isSensitive = false): boolean {
  return demand !== undefined && (isSensitive || demand.areas.includes(EVERYTHING))
}

/** Whether the sign-in of this page session reached the `acr`. A later sign-in in the same browser does not count. */
function reaches({ authenticatedAt, browser }: PageSession, acr: string | undefined): boolean {
  return acr === undefined || (authenticatedAt > 0 && browser.acr === acr)
}

function ifOn(handler: OperatorHandler): OperatorHandler {
  return (operator, ctx) =>
    operator.site.mcpConnectionsOnSince === undefined
      ? operator.address(pages.beta)
      : handler(operator, ctx)
}

async function operatorOf(ctx: PageContext, session: PageSession, parts: AdminParts) {
  const { database, now } = parts
  const site = await findAdminSite(database, ctx.params['site'] ?? '', session.person.id)
  if (!site) throw nothingHere()
  const { siteId } = session.browser
  if (!operates(site.roles) || (siteId ?? site.id) !== site.id) throw notAnOperator()
  prefer(ctx, { site: site.language })
  /** Returns the path of an administration page. Takes missing parameters from the current path. */
  const address = (pattern: string, values?: Readonly<Record<string, string>>) =>
    addressOf(pattern, { ...ctx.params, site: nameOfSite(site), ...values })
  return { session, site, actor: pageActor(ctx, session, now), address }
}

function operatorArea({ site, address }: Operator, { reviews }: AdminParts) {
  const hidden: readonly unknown[] = [
    site.mcpConnectionsOnSince === undefined && pages.applications,
    !reviews && pages.documentClients,
    ...(site.roles.includes('owner') ? [] : [pages.identityProviders, pages.twoFactors]),
  ]
  const entries = navigation.flatMap((entry): AreaEntry[] => {
    if (typeof entry === 'string') return [entry]
    const [pattern, ...labels] = entry
    return hidden.includes(pattern) ? [] : [[address(pattern), ...labels]]
  })
  // The site's logo and colors do not apply to its administration.
  const look = { name: site.name, logoHref: undefined, colorsHref: undefined }
  return { name: text('adminNav.area', { site: site.name }), look, entries }
}

/** The navigation of a site's administration. Each path is a pattern, whose parameter is the site. */
const navigation: readonly AreaEntry[] = [
  [pages.site, 'adminNav.home', 'house'],
  [pages.members, 'adminNav.people', 'users'],
  [pages.appearance, 'adminNav.appearance', 'palette'],
  'adminNav.apps',
  [pages.assistants, 'adminNav.assistants', 'bot'],
  [pages.approvals, 'adminNav.approvals', 'check'],
  [pages.documentClients, 'adminNav.documentClients', 'circle-check'],
  'adminNav.activity',
  [pages.overview, 'analytics.title', 'chart-line'],
  [pages.audit, 'adminNav.audit', 'scroll-text'],
  'adminNav.signingIn',
  [pages.identityProviders, 'adminNav.identityProviders', 'link'],
  [pages.twoFactors, 'adminNav.twoFactors', 'shield-check'],
  'adminNav.developers',
  [pages.applications, 'adminNav.applications', 'layout-grid'],
  [pages.webhooks, 'adminNav.webhooks', 'bell'],
  [pages.resourceServers, 'adminNav.resourceServers', 'server'],
  [pages.queries, 'adminNav.queries', 'terminal'],
  [pages.beta, 'adminNav.beta', 'flask-conical'],
]
