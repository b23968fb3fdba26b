import type { Context } from 'koa'
import type Router from 'koa-router'

import type { AreaView } from '../../../views/area.ts'
import { MFA_ACR } from '../../directory/people/authentication.ts'
import { type AdminSite, findAdminSite } from '../../directory/sites/site-admin.ts'
import { operates } from '../../directory/sites/site-choice.ts'
import { notAnOperator, nothingHere } from '../../platform/http/errors.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import type { ApplicationKind } from '../../platform/store/oauth-tables.ts'
import { type Application, findApplication } from '../applications/application-lists.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import type { Answer, PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'

/** A signed-in operator, with the site that the URL names. */
export type Operator = Awaited<ReturnType<typeof operatorOf>>

/** Handles an operator's request for a page of the site, or a form submitted there. */
type OperatorHandler = (operator: Operator, ctx: PageContext) => Answer | Promise<Answer>

/** Handles an operator's request for a page of an application, or a form submitted there. */
type ApplicationHandler = (
  app: Application,
  operator: Operator,
  ctx: PageContext,
) => Answer | Promise<Answer>

export type OperatorPages = ReturnType<typeof makeOperatorPages>

/** Creates the functions that declare pages of a site. Only owners and admins of the site can open these pages. */
export function makeOperatorPages(router: Router, parts: AdminParts) {
  const { signedInPages, database } = parts
  /** Returns the `acr` that the site demands for pages of secrets, deletions and how people sign in. */
  const demandedAcr =
    (pattern: string) =>
    async (ctx: PageContext, { person }: PageSession) =>
      pattern === pages.twoFactors ||
      (await findAdminSite(database, ctx.params['site'] ?? '', person.id))?.assuranceDemand
        ? MFA_ACR
        : undefined
  const declaring = <Handler>(enter: (handler: Handler) => OperatorHandler) => {
    const entering = (handler: Handler) => async (ctx: PageContext, session: PageSession) =>
      await enter(handler)(await operatorOf(ctx, session, parts), ctx)
    return {
      page(pattern: string, show: Handler): void {
        router.get(pattern, signedInPages.page(entering(show)))
      },
      /** Declares a form. Its CSRF token is checked before `answer` is called. */
      form(pattern: string, answer: Handler): void {
        router.post(pattern, signedInPages.form(entering(answer)))
      },
      /** Declares a page that first asks for the password, unless the person gave it a short time ago. */
      freshPage(pattern: string, show: Handler): void {
        router.get(
          pattern,
          signedInPages.page(signedInPages.fresh(entering(show), undefined, demandedAcr(pattern))),
        )
      },
      /** Declares a form that asks for the password as `freshPage` does. The person then continues at `shownAt`. */
      freshForm(pattern: string, shownAt: string, answer: Handler): void {
        router.post(
          pattern,
          signedInPages.form(signedInPages.fresh(entering(answer), shownAt, demandedAcr(pattern))),
        )
      },
    }
  }
  return {
    ...declaring<OperatorHandler>((handler) => handler),
    /** Declares the handler of a request that a script on one of these pages sends. */
    script(pattern: string, answer: (operator: Operator, ctx: PageContext) => Promise<void>): void {
      const entering = async (ctx: PageContext, session: PageSession) =>
        await answer(await operatorOf(ctx, session, parts), ctx)
      router.post(pattern, signedInPages.script(entering))
    },
    /** Declares pages that redirect to Beta features while MCP connections are off. */
    whereOn: declaring(ifOn),
    /** Declares pages of the application of this kind that the URL names. They respond with 404 if the site lacks it. */
    of: (kind: ApplicationKind) =>
      declaring<ApplicationHandler>((handler) => {
        const found: OperatorHandler = async (operator, ctx) => {
          const clientId = ctx.params['client'] ?? ''
          const app = await findApplication(database.kysely, operator.site.id, clientId, kind)
          if (!app) throw nothingHere()
          return await handler(app, operator, ctx)
        }
        // The beta feature MCP connections does not affect resource servers, which only introspect tokens.
        return kind === 'site' ? ifOn(found) : found
      }),
  }
}

function ifOn(handler: OperatorHandler): OperatorHandler {
  return (operator, ctx) =>
    operator.site.mcpConnectionsOnSince === undefined
      ? operator.address(pages.beta)
      : handler(operator, ctx)
}

async function operatorOf(ctx: PageContext, session: PageSession, { database, now }: AdminParts) {
  const site = await findAdminSite(database, ctx.params['site'] ?? '', session.person.id)
  if (!site) throw nothingHere()
  const { siteId } = session.browser
  if (!operates(site.roles) || (siteId ?? site.id) !== site.id) throw notAnOperator()
  /** Returns the path of an administration page. Takes missing parameters from the current path. */
  const address = (pattern: string, values?: Readonly<Record<string, string>>) =>
    addressOf(pattern, { ...ctx.params, site: nameOfSite(site), ...values })
  return {
    session,
    site,
    actor: actorOf(ctx, session, now),
    address,
    area: areaOf(ctx, session, site, address),
  }
}

function areaOf(
  ctx: Context,
  { person, csrf }: PageSession,
  site: AdminSite,
  address: (pattern: string) => string,
): AreaView {
  const link = (href: string, label: string) => ({ href, label, current: ctx.path === href })
  return {
    name: `Administration of ${site.name}`,
    links: [
      link(address(pages.site), site.name),
      ...(site.mcpConnectionsOnSince === undefined
        ? []
        : [link(address(pages.applications), 'OAuth applications')]),
      link(address(pages.audit), 'Audit trail'),
      link(pages.account, 'Your account'),
    ],
    signOutAction: pages.signOut,
    person,
    csrf,
  }
}
