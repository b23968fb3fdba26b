/** Serves the GraphQL APIs, their pages and their schemas over HTTP. Checks tokens and limits. */

import type { Context } from 'koa'

import type { Page } from '../../../views/layout.ts'
import { openCors } from '../../platform/http/cors.ts'
import { addressTooLong, methodNotAllowed } from '../../platform/http/errors.ts'
import { sendPublicPage } from '../../platform/http/page.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import {
  type AdviseOnScopes,
  type Protection,
  refuse,
  verdictOf,
} from '../../resource/resource-server/protect.ts'
import type { Verdict, VerifyBearer } from '../../resource/resource-server/verify-bearer.ts'
import type { makeDiscovery } from '../discovery/discovery.ts'
import type { ProtectedResource } from '../discovery/protected-resource.ts'
import type { CostLimit } from './cost.ts'
import type { Execute, GraphqlApi } from './graphql-api.ts'
import type { CallerOf } from './http-handler.ts'
import { once } from './once.ts'
import type { Person, TryQuery } from './query-page.ts'

/** Dependencies that the endpoints of the Member API, the Admin API and the tools share. */
export interface EndpointPorts {
  readonly baseUrl: string
  readonly platform: Pick<Platform, 'database' | 'requestLimits' | 'now'>
  readonly cursors: Cursors
  readonly verifyBearer: VerifyBearer
  readonly adviseOnScopes: AdviseOnScopes
  readonly discovery: ReturnType<typeof makeDiscovery>
  readonly schemaCacheSeconds: number
}

interface GraphqlEndpoint<Caller> {
  /** Creates the API. Called once, at the first request that needs it. */
  readonly load: () => Promise<GraphqlApi<Caller>>
  readonly address: string
  readonly schemaAddress: string
  readonly schemaText: string
  /** The page that browsers get instead of the API. */
  readonly page: Page
  readonly costLimit: CostLimit
  readonly resource: ProtectedResource
  /** Returns the scopes that a challenge requests. */
  readonly askedScopes: () => readonly string[]
  /** Returns the verdict, or a refusal for a token without access to this API. Called before the body is read. */
  readonly admit: (verdict: Verdict) => Verdict
  readonly callerOf: CallerOf<Caller>
}

/** Creates the HTTP routes of an API. Also creates the functions that run documents for tools and the query page. */
export function graphqlEndpoint<Caller extends Person>(
  { discovery, adviseOnScopes, verifyBearer, schemaCacheSeconds }: EndpointPorts,
  endpoint: GraphqlEndpoint<Caller>,
) {
  const { askedScopes, costLimit, resource } = endpoint
  const load = once(endpoint.load)
  const loadTryQuery = once(async () =>
    (await import('./try-query.ts')).makeTryQuery(await load(), costLimit),
  )
  const tryQuery: TryQuery<Caller> = async (...asked) => await (await loadTryQuery())(...asked)
  const protection: Protection = {
    resourceMetadataUrl: discovery.metadataUrl(resource),
    adviseOnScopes,
    get scopes() {
      return askedScopes()
    },
  }
  const execute: Execute<Caller> = async (...asked) => await (await load()).execute(...asked)
  const router = makeRouter()
  router.all(endpoint.schemaAddress, openCors(['GET']))
  router.get(endpoint.schemaAddress, (ctx) => {
    ctx.set('Cache-Control', `public, max-age=${schemaCacheSeconds}`)
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = endpoint.schemaText
  })
  router.all(endpoint.address, openCors(['GET', 'POST']), async (ctx) => {
    await serveGraphql(ctx, { ...endpoint, load }, { verifyBearer, protection })
  })
  return { routes: router, protection, execute, tryQuery }
}

/** Loads the GraphQL library at the first request, to keep start-up fast. */
const loadHandler = once(() => import('./http-handler.ts'))

/** The maximum length of a URL. Longer queries must use POST, because many proxies limit the length of URLs. */
const ADDRESS_CHARACTERS_MAX = 8000

/** Sends the page to a browser, or runs the operation of a request. The API reads no cookies, so CSRF is impossible. */
async function serveGraphql<Caller>(
  ctx: Context,
  { load, page, admit, callerOf, costLimit }: GraphqlEndpoint<Caller>,
  { verifyBearer, protection }: { verifyBearer: VerifyBearer; protection: Protection },
): Promise<void> {
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
  const { handleRequest } = await loadHandler()
  await handleRequest(ctx, verdict, { api: await load(), callerOf, costLimit, protection })
}

/** Whether a browser requests a page. A program that accepts any type gets JSON. */
function wantsPage(ctx: Context): boolean {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return false
  ctx.vary(['Accept', 'Authorization'])
  if (ctx.get('Authorization')) return false
  return ctx.accepts('json', 'application/graphql-response+json', 'html') === 'html'
}
