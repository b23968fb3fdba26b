/** GraphQL over HTTP for the APIs of this service: limits, scopes, pages of lists, answers. What is served is not known here. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import type { Page } from '../../../views/layout.ts'
import { openCors } from '../../platform/http/cors.ts'
import { addressTooLong, methodNotAllowed } from '../../platform/http/errors.ts'
import { sendPublicPage } from '../../platform/http/page.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import {
  type AdviseOnScopes,
  type Protection,
  refuse,
  verdictOf,
} from '../../resource/resource-server/protect.ts'
import type { Verdict, VerifyBearer } from '../../resource/resource-server/verify-bearer.ts'
import { type CallerOf, makeAnswer } from './answer.ts'
import type { ContextRecord, Execute, GraphqlApi } from './api.ts'
import type { CostLimit } from './cost.ts'
import { makeTryQuery, type Person } from './query-page.ts'

/** What the surface of every API needs. */
export interface EndpointPorts {
  readonly verifyBearer: VerifyBearer
  /** The protected-resource metadata to which challenges point (RFC 9728 §5.1; design 5). */
  readonly resourceMetadataUrl: string
  readonly adviseOnScopes: AdviseOnScopes
  /** How long the published schema may be kept. */
  readonly schemaCacheSeconds: number
}

interface GraphqlEndpoint<Caller, ApiContext extends ContextRecord> {
  /** Makes the API, once, when the first request needs it. */
  readonly load: () => Promise<GraphqlApi<Caller, ApiContext>>
  readonly address: string
  readonly schemaAddress: string
  readonly schemaText: string
  /** The page that explains the API to a browser. */
  readonly page: Page
  readonly costLimit: CostLimit
  /** The scopes to ask for without a good token; read at the first refusal. */
  readonly askedScopes: () => readonly string[]
  /** Refuses a token that can do nothing here, before the request is read. */
  readonly admit: (verdict: Verdict) => Verdict
  readonly callerOf: CallerOf<Caller>
}

/** An API over HTTP, within the process for tools, and for the page on which queries are tried. */
export function graphqlSurface<Caller extends Person, ApiContext extends ContextRecord>(
  ports: EndpointPorts,
  endpoint: GraphqlEndpoint<Caller, ApiContext>,
) {
  let loading: Promise<GraphqlApi<Caller, ApiContext>> | undefined
  const api = () => {
    loading ??= endpoint.load()
    return loading
  }
  const { askedScopes, costLimit } = endpoint
  const protection: Protection = {
    resourceMetadataUrl: ports.resourceMetadataUrl,
    adviseOnScopes: ports.adviseOnScopes,
    get scopes() {
      return askedScopes()
    },
  }
  const execute: Execute<Caller> = async (...asked) => await (await api()).execute(...asked)
  return {
    routes: endpointRoutes(ports, { ...endpoint, load: api }, protection),
    protection,
    execute,
    tryQuery: makeTryQuery(api, costLimit),
  }
}

/** A query that is longer is sent by POST; servers on the way take no more than this, often. */
const ADDRESS_CHARACTERS_MAX = 8000

/**
 * One API over HTTP: POST, and GET for queries, one operation a request, no cookie, no anonymous mode.
 * A GET is no danger without a cookie: only a client with the token can send it.
 */
function endpointRoutes<Caller, ApiContext extends ContextRecord>(
  { verifyBearer, schemaCacheSeconds }: EndpointPorts,
  endpoint: GraphqlEndpoint<Caller, ApiContext>,
  protection: Protection,
): Router {
  const { load, page, admit, callerOf, costLimit } = endpoint
  let answering: Promise<ReturnType<typeof makeAnswer<Caller, ApiContext>>> | undefined
  const answer = () => {
    answering ??= load().then((api) => makeAnswer(api, callerOf, costLimit, protection))
    return answering
  }
  const router = makeRouter()

  router.get(endpoint.schemaAddress, openCors(['GET']), (ctx) => {
    ctx.set('Cache-Control', `public, max-age=${schemaCacheSeconds}`)
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = endpoint.schemaText
  })

  router.all(endpoint.address, openCors(['GET', 'POST']), async (ctx) => {
    if (wantsPage(ctx)) return sendPublicPage(ctx, page)
    if (ctx.method !== 'POST' && ctx.method !== 'GET') {
      ctx.set('Allow', 'GET, POST')
      throw methodNotAllowed('GET and POST')
    }
    if (ctx.url.length > ADDRESS_CHARACTERS_MAX) throw addressTooLong(ADDRESS_CHARACTERS_MAX)
    ctx.set('Cache-Control', 'no-store')
    const verdict = admit(await verdictOf(ctx, verifyBearer))
    if (verdict.kind !== 'granted') return await refuse(ctx, verdict, protection)
    const exceeded = costLimit.limits.exceeded(costLimit.name, personKey(verdict.token))
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
