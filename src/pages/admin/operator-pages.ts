import type { Context } from 'koa'
import type Router from 'koa-router'

import type { AreaView } from '../../../views/area.ts'
import { type AdminSite, findAdminSite } from '../../directory/sites/site-admin.ts'
import { operates } from '../../directory/sites/site-choice.ts'
import { notAnOperator, nothingHere } from '../../platform/http/errors.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import type { ApplicationKind } from '../../platform/store/schema.ts'
import { type Application, findApplication } from '../applications/application-lists.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import type { Answer, PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './parts.ts'

/** An operator at the site of the address. */
export type Operator = Awaited<ReturnType<typeof operatorOf>>

/** Answers at an address of a site, for an operator of that site. */
type OperatorHandler = (operator: Operator, ctx: PageContext) => Answer | Promise<Answer>

/** Answers at an address of an application, for an operator of its site. */
type ApplicationHandler = (
  app: Application,
  operator: Operator,
  ctx: PageContext,
) => Answer | Promise<Answer>

export type OperatorPages = ReturnType<typeof makeOperatorPages>

/**
 * Declares the pages of the administration of one site. An unknown site is 404, and a person who is
 * neither owner nor admin there is refused with 403: at every request, because roles are taken away.
 */
export function makeOperatorPages(router: Router, parts: AdminParts) {
  const { signedInPages, database } = parts
  const declaring = <Handler>(enter: (handler: Handler) => OperatorHandler) => {
    const entering = (handler: Handler) => async (ctx: PageContext, session: PageSession) =>
      await enter(handler)(await operatorOf(ctx, session, parts), ctx)
    return {
      page(pattern: string, show: Handler): void {
        router.get(pattern, signedInPages.page(entering(show)))
      },
      /** The form's token has been checked when `answer` is called. */
      form(pattern: string, answer: Handler): void {
        router.post(pattern, signedInPages.form(entering(answer)))
      },
    }
  }
  return {
    ...declaring<OperatorHandler>((handler) => handler),
    /** A request of a script of such a page. */
    script(pattern: string, answer: (operator: Operator, ctx: PageContext) => Promise<void>): void {
      const entering = async (ctx: PageContext, session: PageSession) =>
        await answer(await operatorOf(ctx, session, parts), ctx)
      router.post(pattern, signedInPages.script(entering))
    },
    /** Pages that appear once the site has MCP connections on (specification, What the service does 9). */
    whereOn: declaring(ifOn),
    /** Pages of one application of the kind, which the address names; those of `site` appear as `whereOn`. */
    of: (kind: ApplicationKind) =>
      declaring<ApplicationHandler>((handler) => {
        const found: OperatorHandler = async (operator, ctx) => {
          const clientId = ctx.params['client'] ?? ''
          const app = await findApplication(database.kysely, operator.site.id, clientId, kind)
          if (!app) throw nothingHere()
          return await handler(app, operator, ctx)
        }
        // Resource servers ask about tokens, which end with the beta feature where they must.
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

async function operatorOf(
  ctx: PageContext,
  session: PageSession,
  { database, now }: Pick<AdminParts, 'database' | 'now'>,
) {
  const site = await findAdminSite(database, ctx.params['site'] ?? '', session.person.id)
  if (!site) throw nothingHere()
  if (!operates(site.roles)) throw notAnOperator()
  /**
   * Address of a page of this site's administration. Parameters that are not given, such as the
   * application, are those of the current address.
   */
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
