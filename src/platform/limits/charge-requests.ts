import type { Context, Middleware, Next } from 'koa'

import {
  addressOf,
  changePaths,
  forwardAuthFor,
  linkPages,
  pages,
  paths,
  planPaths,
} from '../http/paths.ts'
import { logFields } from '../http/request-log.ts'
import { networkOf } from './client-network.ts'
import type { LimitName } from './limit-table.ts'
import type { Limits } from './limits.ts'
import { answerTooMany, type ErrorShape } from './too-many-requests.ts'

/** How requests to a path are charged to the client's network. */
interface Gate {
  readonly limit: LimitName
  readonly shape: ErrorShape
  /** Points to charge before the request is handled. */
  readonly before?: (ctx: Context) => number
  /** Points to charge after the request is handled. */
  readonly after?: (ctx: Context, limits: Limits) => number
  /** Whether OPTIONS is an ordinary request at this path, not a preflight. */
  readonly takesOptions?: true
  /** The gate for requests with an Authorization header, if it differs. */
  readonly withToken?: Gate
}

const authorization: Gate = { limit: 'authorizations', shape: 'page', before: kilobytesOf }
const oauth: Gate = { limit: 'oauthFailures', shape: 'json', after: oauthFailure }
/** Charges forward auth only if the proxy fails to authenticate, because all users of the proxy share its address. */
const proxies: Gate = { ...oauth, after: refusedClient, takesOptions: true }
const pushed: Gate = {
  ...authorization,
  shape: 'json',
  before: kilobytesPushed,
  after: refusedClient,
}
const protectedAddress: Gate = { limit: 'tokenFailures', shape: 'json', after: tokenFailure }
const graphql: Gate = { ...protectedAddress, shape: 'graphql' }
const tools: Gate = {
  limit: 'toolsOfAddress',
  shape: 'message',
  before: () => 1,
  withToken: { ...protectedAddress, shape: 'message' },
}
const page: Gate = { limit: 'pagesOfAddress', shape: 'page', before: () => 1 }
const files: Gate = {
  limit: 'downloads',
  shape: 'page',
  before: () => 1,
  after: ({ status }) => (status === 404 ? 9 : 0),
}

const exact: ReadonlyMap<string, Gate | undefined> = new Map<string, Gate | undefined>([
  [paths.authorization, authorization],
  // The engine stores a sign-out request until it is confirmed, so charge it like an authorization request.
  [paths.endSession, authorization],
  [paths.token, oauth],
  [paths.revocation, oauth],
  [paths.introspection, oauth],
  [planPaths.pushedAuthorization, pushed],
  [paths.forwardAuth, proxies],
  [paths.userinfo, protectedAddress],
  [paths.adminFiles, protectedAddress],
  [planPaths.records, protectedAddress],
  [paths.graphql, graphql],
  [paths.adminGraphql, graphql],
  [paths.mcp, tools],
  [paths.mcpMember, tools],
  [paths.mcpAdmin, tools],
  // No limit, because the schema is public. Without this entry, the prefix `pages.admin` would match.
  [paths.adminSchema, undefined],
])

/** How requests are charged, by path prefix. The first match applies, so the platform API precedes operator pages. */
const byPrefix: readonly (readonly [string, Gate])[] = [
  [forwardAuthFor, proxies],
  [addressOf(paths.upstream, { path: '' }), protectedAddress],
  [prefixOf(changePaths.mcp), tools],
  [prefixOf(pages.siteLogo), files],
  [prefixOf(pages.download), files],
  [`${paths.authorization}/`, page],
  [paths.endSession, page],
  [prefixOf(pages.consent), page],
  [pages.recover, page],
  [prefixOf(linkPages.invitation), page],
  [prefixOf(linkPages.upload), page],
  [prefixOf(pages.signUp), page],
  [prefixOf(pages.signUpSent), page],
  [prefixOf(pages.providerCallback), page],
  [pages.signedIn, page],
  [pages.signOut, page],
  [pages.switchAccount, page],
  [pages.account, page],
  [pages.admin, page],
  [pages.connectHome, page],
  [pages.mail, page],
]

function prefixOf(pattern: string): string {
  return pattern.slice(0, pattern.indexOf(':'))
}

/**
 * Limits requests by client network. Charges these requests before they are handled: page requests, file requests, tool
 * requests without a token, and requests that are stored. Charges requests with credentials only if they fail, because
 * many people and programs may share one address. Successful requests are charged to the person or client instead. Once
 * the limit is exceeded, requests with valid credentials still succeed, but failed requests get 429 and are charged to
 * `verifications`. If that limit is exceeded too, both get 429.
 */
export function limitByAddress(limits: Limits): Middleware {
  return async (ctx, next) => {
    const gate = gateAt(ctx)
    await (gate ? pass(ctx, gate, next) : next())
  }

  async function pass(ctx: Context, { limit, before, after, shape }: Gate, next: Next) {
    const network = networkOf(ctx.ip)
    if (before && answerTooMany(ctx, limits.take(limit, network, before(ctx)), shape)) return
    const exceeded = before ? undefined : limits.exceeded(limit, network)
    const reached = exceeded && limits.exceeded('verifications', network)
    if (answerTooMany(ctx, reached, shape)) return
    await next()
    const points = after?.(ctx, limits) ?? 0
    if (points === 0) return
    limits.count(exceeded ? 'verifications' : limit, network, points)
    if (answerTooMany(ctx, exceeded, shape)) ctx.remove('WWW-Authenticate')
  }
}

function gateAt({ path, method, headers }: Context): Gate | undefined {
  const gate = exact.has(path)
    ? exact.get(path)
    : byPrefix.find(([prefix]) => path.startsWith(prefix))?.[1]
  if (method === 'OPTIONS' && !gate?.takesOptions) return undefined
  return headers.authorization === undefined ? gate : (gate?.withToken ?? gate)
}

const KILOBYTE = 1024
/** The engine's maximum body length, which is charged if there is no Content-Length. */
const PUSHED_BYTES_MAX = 56 * KILOBYTE

/** Returns the points for an authorization or sign-out request: one, and one for each full KiB of its URL. */
function kilobytesOf({ url }: Context): number {
  return 1 + Math.floor(url.length / KILOBYTE)
}

/** Returns the points for a pushed request: one, and one for each full KiB of its body, by Content-Length. */
function kilobytesPushed(ctx: Context): number {
  return 1 + Math.floor(Number(ctx.get('content-length') || PUSHED_BYTES_MAX) / KILOBYTE)
}

function refusedClient(ctx: Context): number {
  return logFields(ctx).error === 'invalid_client' ? 10 : 0
}

function oauthFailure(ctx: Context, limits: Limits): number {
  const { error } = logFields(ctx)
  if (error === 'invalid_client') return refusedClient(ctx)
  const { status } = ctx
  // Requests from authenticated clients are charged to the client instead.
  if (countClientRequest(ctx, limits) || !isClientError(status)) return 0
  return error === 'invalid_grant' ? 2 : 1
}

function tokenFailure({ status }: Context): number {
  if (!isClientError(status)) return 0
  return status === 401 ? 3 : 1
}

function isClientError(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429
}

/** The authenticated client of each request. A weak map drops the entry with the request. */
const authenticatedClients = new WeakMap<object, string>()

/** Records that a client authenticated with a secret or key. A client_id alone proves nothing: anyone can send it. */
export function noteAuthenticatedClient(request: object | undefined, clientId: string): void {
  if (request) authenticatedClients.set(request, clientId)
}

/** Charges a completed request, except a 429, to its authenticated client. @returns whether the client authenticated */
function countClientRequest(ctx: Context, limits: Limits): boolean {
  const clientId = authenticatedClients.get(ctx)
  if (clientId === undefined) return false
  if (ctx.status !== 429) limits.count('requestsOfClient', clientId, ctx.status < 400 ? 1 : 5)
  return true
}
