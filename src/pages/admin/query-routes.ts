import type { Context } from 'koa'
import type Router from 'koa-router'

import {
  sendQueryPage,
  sendTried,
  type Tried,
  typedInForm,
  typedInScript,
} from '../../api/graphql/query-pages.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { OWN_CLIENT_ID } from '../relying-party/own-client.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

type QueryParts = Pick<AdminParts, 'tryQuery' | 'queryTool' | 'baseUrl'>

/** Where an operator tries queries of the Admin API, in a browser and without a token. */
export function queryRoutes(operatorPages: OperatorPages, parts: QueryParts): Router {
  const { tryQuery } = parts
  const router = makeRouter()
  router.get(
    pages.queries,
    operatorPages.page(async (ctx, operator) => await send(ctx, operator, { parts })),
  )
  router.post(
    pages.queries,
    operatorPages.form(async (ctx, operator) => {
      const typed = typedInForm(ctx)
      const tried = { typed, outcome: await tryQuery(typed, callerOf(operator)) }
      await send(ctx, operator, { parts, tried })
    }),
  )
  router.post(
    pages.runQuery,
    operatorPages.script(async (ctx, operator) =>
      sendTried(ctx, await tryQuery(await typedInScript(ctx), callerOf(operator))),
    ),
  )
  return router
}

function callerOf({ actor, site }: Operator) {
  return { ...actor, siteId: site.id, clientId: OWN_CLIENT_ID }
}

async function send(
  ctx: Context,
  { area, site, address }: Operator,
  { parts, tried }: { readonly parts: QueryParts; readonly tried?: Tried },
): Promise<void> {
  const page = {
    area,
    apiName: 'Admin API',
    siteName: site.name,
    says: 'It is run as you, and changes nothing.',
    action: address(pages.queries),
    endpoint: parts.baseUrl + paths.adminGraphql,
    schemaHref: paths.adminSchema,
  }
  const runAddress = address(pages.runQuery)
  await sendQueryPage(ctx, page, { runAddress, example: EXAMPLE, tried, tool: parts.queryTool })
}

const EXAMPLE = `{
  site { name }
  courses(first: 5, state: PUBLISHED) {
    totalCount
    nodes { slug title enrolmentCount }
  }
}`
