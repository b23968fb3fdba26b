/** GraphQL over HTTP for the APIs of this service: limits, scopes, pages of lists, answers. What is served is not known here. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import type { Page } from '../../../views/layout.ts'
import { openCors } from '../../platform/http/cors.ts'
import { addressTooLong, methodNotAllowed } from '../../platform/http/errors.ts'
import { sendPublicPage } from '../../platform/http/page.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { answerTooMany, personKey } from '../../platform/limits/limits.ts'
import { type Protection, refuse, verdictOf } from '../../resource/resource-server/protect.ts'
import type { Verdict, VerifyBearer } from '../../resource/resource-server/verdict.ts'
import { type CallerOf, makeAnswer } from './answer.ts'
import type { ContextRecord, GraphqlApi } from './api.ts'
import type { CostLimit } from './cost-limit.ts'

export interface GraphqlEndpoint<Caller, ApiContext extends ContextRecord> {
  /** Asked at the first request, and once. */
  readonly api: () => Promise<GraphqlApi<Caller, ApiContext>>
  readonly address: string
  readonly schemaAddress: string
  readonly schemaText: string
  /** What a browser is shown that is pointed at the address. */
  readonly page: Page
  readonly protection: Protection
  readonly verifyBearer: VerifyBearer
  readonly costLimit: CostLimit
  /** Turns away whoever can do nothing here, before their request is read. */
  readonly admit: (verdict: Verdict) => Verdict
  readonly callerOf: CallerOf<Caller>
  /** How long the published schema may be kept. */
  readonly schemaCacheSeconds: number
}

/** A query that is longer is sent by POST; servers on the way take no more than this, often. */
const ADDRESS_CHARACTERS_MAX = 8000

/**
 * One API over HTTP: POST, and GET for queries, one operation a request, no cookie, no anonymous mode.
 * A GET is no danger without a cookie: whoever sends it has the token.
 */
export function graphqlEndpoint<Caller, ApiContext extends ContextRecord>(
  endpoint: GraphqlEndpoint<Caller, ApiContext>,
): Router {
  const { api, address, page, protection, verifyBearer, admit } = endpoint
  let answering: Promise<ReturnType<typeof makeAnswer<Caller, ApiContext>>> | undefined
  const answer = () => {
    answering ??= api().then((loaded) => makeAnswer(loaded, endpoint, protection))
    return answering
  }
  const router = makeRouter()

  router.get(endpoint.schemaAddress, openCors(['GET']), (ctx) => {
    ctx.set('Cache-Control', `public, max-age=${endpoint.schemaCacheSeconds}`)
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = endpoint.schemaText
  })

  router.all(address, openCors(['GET', 'POST']), async (ctx) => {
    if (wantsPage(ctx)) return sendPublicPage(ctx, page)
    if (ctx.method !== 'POST' && ctx.method !== 'GET') {
      ctx.set('Allow', 'GET, POST')
      throw methodNotAllowed('GET and POST')
    }
    if (ctx.url.length > ADDRESS_CHARACTERS_MAX) throw addressTooLong(ADDRESS_CHARACTERS_MAX)
    ctx.set('Cache-Control', 'no-store')
    const verdict = admit(await verdictOf(ctx, verifyBearer))
    if (verdict.kind !== 'granted') return await refuse(ctx, verdict, protection)
    const { limits, name } = endpoint.costLimit
    const exceeded = limits.exceeded(name, personKey(verdict.token))
    if (answerTooMany(ctx, exceeded, 'graphql')) return
    const send = await answer()
    await send(ctx, verdict.token)
  })
  return router
}

/** Whether a browser was pointed at the address. A program which accepts anything is answered in JSON. */
function wantsPage(ctx: Context): boolean {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return false
  ctx.vary('Accept')
  return ctx.accepts('json', 'application/graphql-response+json', 'html') === 'html'
}
