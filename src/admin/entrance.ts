import type { Middleware } from 'koa'

import type { AreaView } from '../../views/area.ts'
import type { Actor } from '../audit/audit-log.ts'
import { notAnOperator, nothingHere } from '../errors.ts'
import { actorOf } from '../first-party/actor.ts'
import { pages } from '../first-party/addresses.ts'
import { type Gate, type PageContext, seeOther } from '../first-party/gate.ts'
import type { Visitor } from '../first-party/session.ts'
import type { AdminSite } from '../sites/site-admin.ts'
import { operates } from '../sites/standing.ts'

/** An operator at the site of the address. */
export interface Operator {
  readonly visitor: Visitor
  readonly site: AdminSite
  readonly actor: Actor
  readonly area: AreaView
  /** Address of a page of this site's administration. */
  address(...segments: readonly string[]): string
}

export type OperatorHandler = (ctx: PageContext, operator: Operator) => Promise<void>

/**
 * The door to the administration of one site: an unknown site is 404, and somebody who is neither
 * owner nor admin there is 403. Asked anew at every request, because roles are taken away.
 */
export interface Entrance {
  page(show: OperatorHandler): Middleware
  form(answer: OperatorHandler): Middleware
  /** The same two for pages that appear once the site has MCP connections on (specification). */
  readonly whereOn: Pick<Entrance, 'page' | 'form'>
}

export interface EntranceDependencies {
  readonly gate: Gate
  readonly findSite: (slug: string, personId: string) => Promise<AdminSite | undefined>
  readonly now: () => number
}

export function makeEntrance(dependencies: EntranceDependencies): Entrance {
  const { gate } = dependencies
  const entering = (handler: OperatorHandler) => async (ctx: PageContext, visitor: Visitor) =>
    await handler(ctx, await enter(ctx, visitor, dependencies))
  return {
    page: (show) => gate.page(entering(show)),
    form: (answer) => gate.form(entering(answer)),
    whereOn: {
      page: (show) => gate.page(entering(ifOn(show))),
      form: (answer) => gate.form(entering(ifOn(answer))),
    },
  }
}

function ifOn(handler: OperatorHandler): OperatorHandler {
  return async (ctx, operator) => {
    if (operator.site.connectionsOnSince !== undefined) return await handler(ctx, operator)
    seeOther(ctx, operator.address('beta'))
  }
}

async function enter(
  ctx: PageContext,
  visitor: Visitor,
  { findSite, now }: EntranceDependencies,
): Promise<Operator> {
  const site = await findSite(ctx.params['site'] ?? '', visitor.person.id)
  if (!site) throw nothingHere()
  if (!operates(site.roles)) throw notAnOperator()
  const address = (...segments: readonly string[]) =>
    [pages.admin, site.slug, ...segments].join('/')
  return {
    visitor,
    site,
    actor: actorOf(ctx, visitor, now),
    address,
    area: areaOf(ctx, visitor, site),
  }
}

function areaOf(ctx: PageContext, { person, csrf }: Visitor, site: AdminSite): AreaView {
  const home = `${pages.admin}/${site.slug}`
  const link = (href: string, label: string) => ({ href, label, current: ctx.path === href })
  return {
    name: `Administration of ${site.name}`,
    links: [
      link(home, site.name),
      ...(site.connectionsOnSince === undefined
        ? []
        : [link(`${home}/applications`, 'OAuth applications')]),
      link(`${home}/audit`, 'Audit trail'),
      link(pages.account, 'Your account'),
    ],
    person,
    csrf,
  }
}
