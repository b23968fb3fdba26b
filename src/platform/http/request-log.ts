import { randomFillSync } from 'node:crypto'

import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'

/** What parts of the service add to the line of the request they work on. Never a token or code. */
export interface LogFields {
  client?: string | undefined
  person?: string | undefined
  /** The tool that was called at the tool endpoint, or the prompt or kind of resource. */
  tool?: string | undefined
  /** The part of the platform's own API that a request was for. */
  upstream?: string | undefined
  /** What the token endpoint was asked for. */
  grantType?: (typeof grantTypes)[number] | undefined
  /** The trace of OpenTelemetry that has spans of it. */
  trace?: string | undefined
  /** What became of it, where the status does not say so. */
  outcome?: Outcome | undefined
  error?: string | undefined
  /** Why, in words that the caller does not see. */
  detail?: string | undefined
  cause?: unknown
}

/** The grants of the token endpoint. */
export const grantTypes = ['authorization_code', 'refresh_token'] as const

/**
 * What became of a request: a refresh that repeats one, or uses a token that was used long ago; what was
 * said of a token; a call of a tool whose answer says what was wrong; a GraphQL answer with errors.
 */
export const outcomes = ['repeated', 'reused', 'active', 'inactive', 'problem', 'errors'] as const
export type Outcome = (typeof outcomes)[number]

/**
 * One JSON line a request. The address is logged as the pattern that matched, because the real one
 * may carry a code, a token or the id of an interaction; the query never appears.
 *
 * Each request has an id, which is in the `X-Request-Id` header and is the error id that a person or
 * a client is given, so that what they quote leads to the line.
 */
export function requestLog(
  logger: Logger,
  now: () => number,
  { hear = () => {}, shownAddress = () => undefined }: RequestListeners = {},
): Middleware {
  const nextId = makeIds()
  return (ctx, next) => {
    const startedAtMs = performance.now()
    const id = nextId()
    ctx.state['requestId'] = id
    ctx.state['log'] = {}
    ctx.state['shownAddress'] = shownAddress
    ctx.set('X-Request-Id', id)
    let finished = false
    ctx.res.on('finish', () => {
      finished = true
    })
    // It comes once, after the last byte or after the caller has left.
    ctx.res.on('close', () => {
      const tookMs = performance.now() - startedAtMs
      const line = {
        id,
        method: ctx.method,
        route: routeOf(ctx),
        status: finished ? ctx.res.statusCode : 499,
        ms: Math.round(tookMs),
        ip: ctx.ip,
        ...printable(logFields(ctx)),
      }
      logger[ctx.res.statusCode >= 500 ? 'error' : 'info'](line, 'request')
      hear({ ...line, at: now(), tookMs, address: shownAddress(ctx.ip) })
    })
    return next()
  }
}

/** Who else wants to know of a request. */
export interface RequestListeners {
  readonly hear?: (line: LoggedRequest) => void
  /** The caller's address as it may be kept for longer than the log is. */
  readonly shownAddress?: (address: string) => string | undefined
}

const ID_BYTES = 9
const IDS_AT_ONCE = 256

/** Ids of requests; the random bytes of many are fetched at once, because each fetch has its price. */
function makeIds(): () => string {
  const pool = Buffer.alloc(ID_BYTES * IDS_AT_ONCE)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += ID_BYTES
    return pool.toString('base64url', used - ID_BYTES, used)
  }
}

/** The line of a request, for whoever else wants to know how it ended. */
export interface LoggedRequest extends Omit<LogFields, 'person'> {
  readonly id: string
  readonly at: number
  readonly method: string
  readonly route: string
  /** 499 when the caller left before the answer. */
  readonly status: number
  /** To the last byte of the answer, in milliseconds and parts of them. */
  readonly tookMs: number
  /** As it may be kept. */
  readonly address: string | undefined
}

/** An error has no property that JSON would print, and its stack is what the line is read for. */
function printable({ cause, ...fields }: LogFields): LogFields {
  if (cause === undefined) return fields
  return { ...fields, cause: cause instanceof Error ? cause.stack : cause }
}

/** The fields that are added to the line of this request. */
export function logFields(ctx: Pick<Context, 'state'>): LogFields {
  ctx.state['log'] ??= {}
  return ctx.state['log']
}

/** The id of this request, which is also the id of its error. */
export function requestIdOf(ctx: Context): string {
  return String(ctx.state['requestId'] ?? '')
}

/** A request as the audit trail names it: its id, and the caller's address as far as it may be kept. */
export interface NamedRequest {
  readonly requestId: string
  readonly address?: string | undefined
}

export function callerOf(ctx: Context): NamedRequest {
  const shown: unknown = ctx.state['shownAddress']
  return {
    requestId: requestIdOf(ctx),
    address: typeof shown === 'function' ? shown(ctx.ip) : undefined,
  }
}

/** The name under which a request is logged: the engine's for its route, or a pattern of ours. */
export function routeOf(ctx: Context): string {
  const { oidc, _matchedRoute: matched } = ctx as {
    oidc?: { route?: string }
    _matchedRoute?: unknown
  }
  const named: unknown = ctx.state['route'] ?? oidc?.route ?? matched
  return typeof named === 'string' ? named : 'none'
}

/** Says which route a request has taken that comes to none. */
export function nameRoute(ctx: Context, route: string): void {
  ctx.state['route'] = route
}
