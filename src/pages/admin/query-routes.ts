import type { Context } from 'koa'

import {
  readFormQuery,
  readScriptQuery,
  sendQueryPage,
  sendTried,
  type Tried,
} from '../../api/graphql/query-page.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import type { AdminParts } from './admin-parts.ts'
import { callerAtPage } from './ask-admin-api.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

/** Registers the page on which operators try queries against the Admin API without a token. Mutations are rejected. */
export function operatorQueryRoutes(operatorPages: OperatorPages, { api, baseUrl }: AdminParts) {
  const { tryQuery } = api.admin
  const { queryTool } = api.member
  const show = async ({ area, address }: Operator, ctx: Context, tried?: Tried) => {
    const page = {
      area,
      api: 'admin' as const,
      action: address(pages.queries),
      endpoint: baseUrl + paths.adminGraphql,
      schemaHref: paths.adminSchema,
    }
    const runAddress = address(pages.runQuery)
    await sendQueryPage(ctx, page, { runAddress, example: EXAMPLE, tried, tool: queryTool })
    return undefined
  }
  operatorPages.page(pages.queries, (operator, ctx) => show(operator, ctx))
  operatorPages.form(pages.queries, async (operator, ctx) => {
    const typed = readFormQuery(ctx)
    const outcome = await tryQuery(typed, callerAtPage(operator))
    return await show(operator, ctx, { typed, outcome })
  })
  operatorPages.script(pages.runQuery, async (operator, ctx) =>
    sendTried(ctx, await tryQuery(await readScriptQuery(ctx), callerAtPage(operator))),
  )
}

const EXAMPLE = `{
  site { name }
  courses(first: 5, state: PUBLISHED) {
    totalCount
    nodes { slug title enrolmentCount }
  }
}`
