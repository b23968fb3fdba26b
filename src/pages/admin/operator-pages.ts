import type { Middleware } from 'koa'

import type { AreaView } from '../../../views/area.ts'
import { operates } from '../../directory/sites/roles.ts'
import { type AdminSite, findAdminSite } from '../../directory/sites/site-admin.ts'
import type { Actor } from '../../platform/audit/audit-log.ts'
import { notAnOperator, nothingHere } from '../../platform/http/errors.ts'
import { seeOther } from '../../platform/http/page.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminPorts } from './parts.ts'

/** An operator at the site of the address. */
export interface Operator {
  readonly session: PageSession
  readonly site: AdminSite
  readonly actor: Actor
  readonly area: AreaView
  /** Address of a page of this site's administration. */
  address(pattern: string, values?: Readonly<Record<string, string>>): string
}

export type OperatorHandler = (ctx: PageContext, operator: Operator) => Promise<void>

/**
 * The pages of the administration of one site: an unknown site is 404, and somebody who is neither
 * owner nor admin there is 403. Asked anew at every request, because roles are taken away.
 */
export interface OperatorPages {
  page(show: OperatorHandler): Middleware
  form(answer: OperatorHandler): Middleware
  /** What a script of such a page asks. */
  script(answer: OperatorHandler): Middleware
  /**
   * The same two for pages that appear once the site has MCP connections on (specification, What
   * the service does 9).
   */
  readonly whereOn: Pick<OperatorPages, 'page' | 'form'>
}

type OperatorPagesPorts = Pick<AdminPorts, 'signedInPages' | 'database' | 'now'>

export function makeOperatorPages(ports: OperatorPagesPorts): OperatorPages {
  const { signedInPages } = ports
  const entering = (handler: OperatorHandler) => async (ctx: PageContext, session: PageSession) =>
    await handler(ctx, await enter(ctx, session, ports))
  return {
    page: (show) => signedInPages.page(entering(show)),
    form: (answer) => signedInPages.form(entering(answer)),
    script: (answer) => signedInPages.script(entering(answer)),
    whereOn: {
      page: (show) => signedInPages.page(entering(ifOn(show))),
      form: (answer) => signedInPages.form(entering(ifOn(answer))),
    },
  }
}

function ifOn(handler: OperatorHandler): OperatorHandler {
  return async (ctx, operator) => {
    if (operator.site.mcpConnectionsOnSince !== undefined) return await handler(ctx, operator)
    seeOther(ctx, operator.address(pages.beta))
  }
}

async function enter(
  ctx: PageContext,
  session: PageSession,
  { database, now }: OperatorPagesPorts,
): Promise<Operator> {
  const site = await findAdminSite(database, ctx.params['site'] ?? '', session.person.id)
  if (!site) throw nothingHere()
  if (!operates(site.roles)) throw notAnOperator()
  const address: Operator['address'] = (pattern, values) =>
    addressOf(pattern, { site: nameOfSite(site), ...values })
  return {
    session,
    site,
    actor: actorOf(ctx, session, now),
    address,
    area: areaOf(ctx, session, { site, address }),
  }
}

function areaOf(
  ctx: PageContext,
  { person, csrf }: PageSession,
  { site, address }: Pick<Operator, 'site' | 'address'>,
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
