import type { Context } from 'koa'

import { sendErrorPage, sendJsonError } from '../http/error-handler.ts'
import { tooManyRequests } from '../http/errors.ts'
import { logFields } from '../http/request-log.ts'
import type { LimitInForce, LimitName } from './limit-table.ts'

/** A limit that is reached. */
export interface Exceeded {
  readonly limit: LimitInForce
  /** Until the window ends; at least 1. */
  readonly waitSeconds: number
}

/**
 * Counts what callers do. Only `takeTogether` and `giveBack` wait for a store. Limits still apply when the
 * store is down, because each process keeps its own counts.
 */
export interface Limits {
  /** Whether nothing is left; counts nothing. */
  exceeded(name: LimitName, key: string): Exceeded | undefined
  /** Counts points, whatever is left. */
  count(name: LimitName, key: string, points?: number): void
  /** Counts points, unless nothing is left. */
  take(name: LimitName, key: string, points?: number): Exceeded | undefined
  /** Takes one point by the counts of all processes: for what is expensive anyway. */
  takeTogether(name: LimitName, key: string): Promise<Exceeded | undefined>
  /** Gives a point of `takeTogether` back. */
  giveBack(name: LimitName, key: string): Promise<void>
  /** Reports what was counted here to the other processes, and reads what they counted. */
  exchange(): Promise<void>
  /** How many keys have a count of their own. */
  size(): number
}

/** The key of a person by one client, so that one of a person's programs does not stop another. */
export function personKey(person: {
  readonly personId: string
  readonly clientId: string
  readonly siteId?: string | undefined
}): string {
  return `${person.personId} ${person.clientId} ${person.siteId ?? ''}`
}

/** How a surface words its errors. */
export type ErrorShape = 'page' | 'json' | 'graphql' | 'message'

/** A server error of JSON-RPC 2.0 that the implementation defines (§5.1). */
const TOO_MANY = -32_029
const EXPOSED_HEADERS = 'Retry-After, RateLimit, RateLimit-Policy, X-Request-Id'

const { error: code, error_description: description = '' } = tooManyRequests()
const body = { error: code, error_description: description }

/**
 * Answers 429 if a limit is reached.
 *
 * @returns whether it did
 */
export function answerTooMany(
  ctx: Context,
  exceeded: Exceeded | undefined,
  shape: ErrorShape,
): boolean {
  if (!exceeded) return false
  tellLimit(ctx, exceeded)
  // The CORS middleware of each endpoint comes later, and a page has to read when to come back.
  if (shape !== 'page' && ctx.get('Origin')) {
    ctx.set({
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': EXPOSED_HEADERS,
    })
  }
  if (shape === 'page') sendPage(ctx, exceeded)
  else sendJsonError(ctx, 429, body)
  if (shape === 'message') {
    const data = { error: code, retryAfterSeconds: exceeded.waitSeconds }
    const error = { code: TOO_MANY, message: description, data }
    ctx.body = { jsonrpc: '2.0', error, id: null }
  }
  if (shape === 'graphql') {
    const extensions = { code: 'TOO_MANY_REQUESTS', retryAfterSeconds: exceeded.waitSeconds }
    const isKnown = ctx.get('Accept').includes('graphql-response+json')
    ctx.body = JSON.stringify({ errors: [{ message: description, extensions }] })
    ctx.type = `application/${isKnown ? 'graphql-response+json' : 'json'}; charset=utf-8`
  }
  return true
}

/** @throws tooManyRequests if a limit is reached */
export function refuseTooMany(
  ctx: Pick<Context, 'set' | 'state'>,
  exceeded: Exceeded | undefined,
): void {
  if (!exceeded) return
  tellLimit(ctx, exceeded)
  throw tooManyRequests()
}

/**
 * When to come back, and which limit was used up, for clients that pace themselves
 * (draft-ietf-httpapi-ratelimit-headers-10; clients read the parameters `r` and `t`).
 */
function tellLimit(ctx: Pick<Context, 'set' | 'state'>, { limit, waitSeconds }: Exceeded): void {
  const { policyName, max, windowSeconds } = limit
  ctx.set({
    'Retry-After': String(waitSeconds),
    RateLimit: `"${policyName}";r=0;t=${waitSeconds}`,
    'RateLimit-Policy': `"${policyName}";q=${max};w=${windowSeconds}`,
  })
  logFields(ctx).detail = `the limit ${limit.name} is reached`
}

function sendPage(ctx: Context, { waitSeconds }: Exceeded): void {
  ctx.status = 429
  ctx.set('Cache-Control', 'no-store')
  logFields(ctx).error = code
  const minutes = Math.ceil(waitSeconds / 60)
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`
  const error_description = `More was asked for than this service answers at once, by you or by others in your network. Please wait ${wait}, then load the page again.`
  sendErrorPage(ctx, { error: code, error_description })
}
