/** GraphQL over HTTP for the APIs of this service: limits, scopes, pages of lists, answers. What is served is not known here. */

import type Router from 'koa-router'

import type { Page } from '../../views/layout.ts'
import { methodNotAllowed } from '../http/errors.ts'
import { openCors } from '../http/open-cors.ts'
import { sendPublicPage } from '../http/page.ts'
import { makeRouter } from '../http/router.ts'
import { type Protection, refuse, verdictOf } from '../resource-server/protect.ts'
import type { Verdict, VerifyBearer } from '../resource-server/verdict.ts'
import { type CallerOf, makeAnswer } from './answer.ts'
import type { ContextRecord, GraphqlApi } from './api.ts'

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
  /** Turns away whoever can do nothing here, before their request is read. */
  readonly admit: (verdict: Verdict) => Verdict
  readonly callerOf: CallerOf<Caller>
  /** How long the published schema may be kept. */
  readonly schemaCacheSeconds: number
}

/** One API over HTTP: POST only, one operation a request, no cookie, no anonymous mode. */
export function graphqlEndpoint<Caller, ApiContext extends ContextRecord>(
  endpoint: GraphqlEndpoint<Caller, ApiContext>,
): Router {
  const { api, address, page, protection, verifyBearer, admit } = endpoint
  let answering: Promise<ReturnType<typeof makeAnswer<Caller, ApiContext>>> | undefined
  const answer = () => {
    answering ??= api().then((loaded) => makeAnswer(loaded, endpoint.callerOf, protection))
    return answering
  }
  const router = makeRouter()

  router.get(endpoint.schemaAddress, openCors(['GET']), (ctx) => {
    ctx.set('Cache-Control', `public, max-age=${endpoint.schemaCacheSeconds}`)
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = endpoint.schemaText
  })

  router.all(address, openCors(['POST']), async (ctx) => {
    if (ctx.method === 'GET' || ctx.method === 'HEAD') {
      ctx.vary('Accept')
      // JSON comes first, so that a program which accepts anything is told that it must POST.
      if (ctx.accepts('json', 'html') === 'html') return sendPublicPage(ctx, page)
    }
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST')
      throw methodNotAllowed('POST')
    }
    ctx.set('Cache-Control', 'no-store')
    const verdict = admit(await verdictOf(ctx, verifyBearer))
    if (verdict.kind !== 'granted') return await refuse(ctx, verdict, protection)
    const send = await answer()
    await send(ctx, verdict.token)
  })
  return router
}
