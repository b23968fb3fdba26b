import type { Context } from 'koa'
import type Router from 'koa-router'

import { queryPage } from '../../views/admin-query.ts'
import type { TriedQuery, TypedQuery } from '../admin-api/try-query.ts'
import { sendPage } from '../http/page.ts'
import { pages, paths } from '../http/paths.ts'
import { makeRouter } from '../http/router.ts'
import { OWN_CLIENT_ID } from '../relying-party/own-client.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** Where an operator tries queries of the Admin API, in a browser and without a token. */
export function queryRoutes(
  operatorPages: OperatorPages,
  { tryQuery, baseUrl }: Pick<AdminParts, 'tryQuery' | 'baseUrl'>,
): Router {
  const router = makeRouter()
  const send = (ctx: Context, operator: Operator, tried?: Tried) =>
    sendPage(
      ctx,
      queryPage({
        area: operator.area,
        siteName: operator.site.name,
        action: operator.address(pages.queries),
        endpoint: baseUrl + paths.adminGraphql,
        schemaHref: paths.adminSchema,
        query: tried?.typed.source ?? EXAMPLE,
        variables: tried?.typed.variables ?? '',
        ...answerOf(tried),
      }),
    )
  router.get(
    pages.queries,
    operatorPages.page(async (ctx, operator) => send(ctx, operator)),
  )
  router.post(
    pages.queries,
    operatorPages.form(async (ctx, operator) => {
      const { query = '', variables = '' } = ctx.request.body as Record<string, unknown>
      const typed = { source: String(query), variables: String(variables) }
      const { actor, site } = operator
      const caller = { ...actor, siteId: site.id, clientId: OWN_CLIENT_ID }
      send(ctx, operator, { typed, outcome: await tryQuery(typed, caller) })
    }),
  )
  return router
}

interface Tried {
  readonly typed: TypedQuery
  readonly outcome: TriedQuery
}

function answerOf(tried: Tried | undefined) {
  if (!tried) return {}
  const { outcome } = tried
  if ('problem' in outcome) return { problem: outcome.problem }
  return { answer: JSON.stringify(outcome.result, null, 2) }
}

const EXAMPLE = `{
  site { name }
  courses(first: 5, state: PUBLISHED) {
    totalCount
    nodes { slug title enrolmentCount }
  }
}`
