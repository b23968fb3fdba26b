import type { Context, Middleware } from 'koa'

import { addressOf, forwardAuthFor, pages, paths, planPaths } from '../http/paths.ts'
import { provenClient } from '../http/proven-client.ts'
import { logFields } from '../http/request-log.ts'
import type { LimitName } from './limit-table.ts'
import type { Limits } from './limits.ts'
import { networkOf } from './network.ts'
import { answerTooMany, type Shape } from './too-many.ts'

/** What stands before an address. */
interface Gate {
  readonly limit: LimitName
  readonly shape: Shape
  /** What a request counts before anybody looks at it; nothing is counted of it otherwise. */
  readonly before?: (ctx: Context) => number
  /** What it counts by its answer. */
  readonly after?: (ctx: Context, limits: Limits) => number
  /** OPTIONS is answered there as every other method is, and is not the question of a browser. */
  readonly takesOptions?: true
}

const authorization: Gate = { limit: 'authorizations', shape: 'page', before: kilobytesOf }
const oauth: Gate = { limit: 'oauthFailures', shape: 'json', after: oauthFailure }
/** All strangers of a guarded application come through it, so that only what it does itself counts. */
const proxies: Gate = { ...oauth, after: unauthenticated, takesOptions: true }
const pushed: Gate = {
  ...authorization,
  shape: 'json',
  before: kilobytesPushed,
  after: unauthenticated,
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
  // Of a request to sign out as much is kept, until it is confirmed.
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
  // A document like others, though it lies below the pages of operators.
  [paths.adminSchema, undefined],
])

/** By what an address begins with, the longest first. */
const below: readonly (readonly [string, Gate])[] = [
  [forwardAuthFor, proxies],
  [addressOf(paths.upstream, { path: '' }), protectedAddress],
  [beginningOf(pages.siteLogo), files],
  [beginningOf(pages.download), files],
  [`${paths.authorization}/`, page],
  [paths.endSession, page],
  [beginningOf(pages.consent), page],
  [pages.signedIn, page],
  [pages.signOut, page],
  [pages.account, page],
  [pages.admin, page],
  [pages.connectHome, page],
]

/** What a pattern begins with, up to its first part that may be anything. */
function beginningOf(pattern: string): string {
  return pattern.slice(0, pattern.indexOf(':'))
}

/**
 * Counts by address, and turns away who has nothing left before anything of the request is read and
 * before any store is asked. At addresses that take credentials only refusals are counted: many
 * people and programs may stand behind one address, and what they may do is counted by whom they are.
 */
export function limitRequests(limits: Limits): Middleware {
  return async (ctx, next) => {
    const gate = gateAt(ctx.path)
    // A preflight of a browser asks for nothing.
    if (!gate || (ctx.method === 'OPTIONS' && !gate.takesOptions)) return await next()
    const { limit, before, after } = gate
    const network = networkOf(ctx.ip)
    const exceeded = before
      ? limits.take(limit, network, before(ctx))
      : limits.exceeded(limit, network)
    if (exceeded) return answerTooMany(ctx, exceeded, gate.shape)
    await next()
    const points = after?.(ctx, limits) ?? 0
    if (points > 0) limits.count(limit, network, points)
  }
}

function gateAt(path: string): Gate | undefined {
  if (exact.has(path)) return exact.get(path)
  const [, found] = below.find(([beginning]) => path.startsWith(beginning)) ?? []
  return found
}

const KILOBYTE = 1024
/** As much as the engine reads. */
const PUSHED_BYTES_MAX = 56 * KILOBYTE

/** What an authorization request stores is as long as it is. */
function kilobytesOf({ url }: Context): number {
  return 1 + Math.floor(url.length / KILOBYTE)
}

/** Without a length nobody knows it before, and it counts as the longest that is read. */
function kilobytesPushed(ctx: Context): number {
  return 1 + Math.floor(Number(ctx.get('content-length') || PUSHED_BYTES_MAX) / KILOBYTE)
}

function unauthenticated(ctx: Context): number {
  return logFields(ctx).error === 'invalid_client' ? 10 : 0
}

function oauthFailure(ctx: Context, limits: Limits): number {
  const { error } = logFields(ctx)
  const clientId = error === 'invalid_client' ? undefined : provenClient(ctx)
  // A client that has shown who it is, is counted by that.
  if (clientId !== undefined && ctx.status !== 429) {
    limits.count('requestsOfClient', clientId, ctx.status < 400 ? 1 : 5)
  }
  if (ctx.status < 400 || ctx.status >= 500) return 0
  if (error === 'invalid_client') return unauthenticated(ctx)
  if (clientId !== undefined || ctx.status === 429) return 0
  return error === 'invalid_grant' ? 2 : 1
}

function tokenFailure({ status }: Context): number {
  if (status < 400 || status >= 500 || status === 429) return 0
  return status === 401 ? 3 : 1
}
