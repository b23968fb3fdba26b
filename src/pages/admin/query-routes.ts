import type { Context } from 'koa'

import {
  readFormQuery,
  readScriptQuery,
  sendTried,
  showQueryPage,
  type Tried,
} from '../../api/graphql/query-page.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import { callerAtPage } from './page-changes.ts'

/** Registers the page on which operators try queries against the Admin API without a token. Mutations are rejected. */
export function operatorQueryRoutes(operatorPages: OperatorPages, { api, baseUrl }: AdminParts) {
  const { tryQuery } = api.admin
  const { queryTool } = api.member
  const show = async ({ address, session }: Operator, ctx: Context, tried?: Tried) => {
    const page = {
      owner: session.person.email,
      api: 'admin' as const,
      endpoint: baseUrl + paths.adminGraphql,
      schemaHref: paths.adminSchema,
    }
    const runAddress = address(pages.runQuery)
    const query = { runAddress, example: EXAMPLE, tried, tool: queryTool }
    return await showQueryPage(ctx, page, query)
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
