import type { Context, Middleware } from 'koa'

import { addressOf, forwardAuthFor, pages, paths, planPaths } from '../http/paths.ts'
import { logFields } from '../http/request-log.ts'
import { networkOf } from './client-network.ts'
import type { LimitName } from './limit-table.ts'
import type { Limits } from './limits.ts'
import { answerTooMany, type ErrorShape } from './too-many-requests.ts'

/** The limit at a path, for each client network. */
interface Gate {
  readonly limit: LimitName
  readonly shape: ErrorShape
  /** The points of a request, taken before it is read. */
  readonly before?: (ctx: Context) => number
  /** The points of its answer. */
  readonly after?: (ctx: Context, limits: Limits) => number
  /** Set where OPTIONS is an ordinary request, not a preflight. */
  readonly takesOptions?: true
}

const authorization: Gate = { limit: 'authorizations', shape: 'page', before: kilobytesOf }
const oauth: Gate = { limit: 'oauthFailures', shape: 'json', after: oauthFailure }
/** All users of a guarded application come through the proxy, so only failures of its own authentication count. */
const proxies: Gate = { ...oauth, after: refusedClient, takesOptions: true }
const pushed: Gate = {
  ...authorization,
  shape: 'json',
  before: kilobytesPushed,
  after: refusedClient,
}
const protectedAddress: Gate = { limit: 'tokenFailures', shape: 'json', after: tokenFailure }
const graphql: Gate = { ...protectedAddress, shape: 'graphql' }
const tools: Gate = { limit: 'toolsOfAddress', shape: 'message', before: () => 1 }
const page: Gate = { limit: 'pagesOfAddress', shape: 'page', before: () => 1 }
const files: Gate = {
  limit: 'downloads',
  shape: 'page',
  before: () => 1,
  after: ({ status }) => (status === 404 ? 9 : 0),
}

const exact: ReadonlyMap<string, Gate | undefined> = new Map<string, Gate | undefined>([
  [paths.authorization, authorization],
  // A sign-out request is stored too, until it is confirmed.
  [paths.endSession, authorization],
  [paths.token, oauth],
  [paths.revocation, oauth],
  [paths.introspection, oauth],
  [planPaths.pushedAuthorization, pushed],
  [paths.forwardAuth, proxies],
  [paths.userinfo, protectedAddress],
  [paths.adminFiles, protectedAddress],
  [paths.graphql, graphql],
  [paths.adminGraphql, graphql],
  [paths.mcp, tools],
  [paths.mcpMember, tools],
  [paths.mcpAdmin, tools],
  // A public document, although its path is below the pages of operators.
  [paths.adminSchema, undefined],
])

/** Gates by path prefix, the longest first. */
const byPrefix: readonly (readonly [string, Gate])[] = [
  [forwardAuthFor, proxies],
  [addressOf(paths.upstream, { path: '' }), protectedAddress],
  [prefixOf(pages.siteLogo), files],
  [prefixOf(pages.download), files],
  [`${paths.authorization}/`, page],
  [paths.endSession, page],
  [prefixOf(pages.consent), page],
  [pages.signedIn, page],
  [pages.signOut, page],
  [pages.account, page],
  [pages.admin, page],
  [pages.connectHome, page],
]

/** Returns a pattern up to its first parameter. */
function prefixOf(pattern: string): string {
  return pattern.slice(0, pattern.indexOf(':'))
}

/**
 * Limits requests by client network, before the request is read and before any store is used. At paths that
 * take credentials only failures count: many people and programs may share one address, and successful
 * requests are charged to the person or client.
 */
export function limitByAddress(limits: Limits): Middleware {
  return async (ctx, next) => {
    const gate = gateAt(ctx.path)
    // Preflights are free.
    if (!gate || (ctx.method === 'OPTIONS' && !gate.takesOptions)) return await next()
    const { limit, before, after, shape } = gate
    const network = networkOf(ctx.ip)
    const exceeded = before
      ? limits.take(limit, network, before(ctx))
      : limits.exceeded(limit, network)
    if (answerTooMany(ctx, exceeded, shape)) return
    await next()
    const points = after?.(ctx, limits) ?? 0
    if (points > 0) limits.count(limit, network, points)
  }
}

function gateAt(path: string): Gate | undefined {
  if (exact.has(path)) return exact.get(path)
  return byPrefix.find(([prefix]) => path.startsWith(prefix))?.[1]
}

const KILOBYTE = 1024
/** The engine reads no more. */
const PUSHED_BYTES_MAX = 56 * KILOBYTE

/** An authorization request is stored as sent, so it costs points by its length. */
function kilobytesOf({ url }: Context): number {
  return 1 + Math.floor(url.length / KILOBYTE)
}

/** Points of a pushed request, one per started KiB. Without Content-Length it costs the maximum. */
function kilobytesPushed(ctx: Context): number {
  return 1 + Math.floor(Number(ctx.get('content-length') || PUSHED_BYTES_MAX) / KILOBYTE)
}

/** The points of a failed client authentication. */
function refusedClient(ctx: Context): number {
  return logFields(ctx).error === 'invalid_client' ? 10 : 0
}

function oauthFailure(ctx: Context, limits: Limits): number {
  const { error } = logFields(ctx)
  if (error === 'invalid_client') return refusedClient(ctx)
  const { status } = ctx
  // An authenticated client is charged as that client.
  if (countClientRequest(ctx, limits) || !isRefusal(status)) return 0
  return error === 'invalid_grant' ? 2 : 1
}

function tokenFailure({ status }: Context): number {
  if (!isRefusal(status)) return 0
  return status === 401 ? 3 : 1
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429
}

/** The authenticated client of each request. */
const authenticatedClients = new WeakMap<object, string>()

/**
 * Records that the client of a request authenticated with a secret or a key. Naming a client in a request
 * proves nothing: a client is only charged for its own requests.
 */
export function noteAuthenticatedClient(request: object | undefined, clientId: string): void {
  if (request) authenticatedClients.set(request, clientId)
}

/**
 * Charges an answered request to its authenticated client: one point, five for a refusal.
 *
 * @returns whether the client authenticated
 */
function countClientRequest(ctx: Context, limits: Limits): boolean {
  const clientId = authenticatedClients.get(ctx)
  if (clientId === undefined) return false
  if (ctx.status !== 429) limits.count('requestsOfClient', clientId, ctx.status < 400 ? 1 : 5)
  return true
}
