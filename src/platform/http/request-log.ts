import { randomFillSync } from 'node:crypto'

import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'

/** What parts of the service add to the log line of their request. Never a token or code. */
export interface LogFields {
  client?: string | undefined
  person?: string | undefined
  /** The tool that was called at the tool endpoint, or the prompt or kind of resource. */
  tool?: string | undefined
  /** The part of the platform's own API that a request was for. */
  upstream?: string | undefined
  /** The grant type of a token request. */
  grantType?: (typeof grantTypes)[number] | undefined
  /** The trace of OpenTelemetry that has its spans. */
  trace?: string | undefined
  /**
   * How it ended, where the status does not say so: a refresh that repeats one, or reuses an old token; the
   * answer of introspection; a tool call that answers a problem; a GraphQL answer with errors.
   */
  outcome?: 'repeated' | 'reused' | 'active' | 'inactive' | 'problem' | 'errors' | undefined
  error?: string | undefined
  /** Why, in words that the caller does not see. */
  detail?: string | undefined
  cause?: unknown
}

/** The grants of the token endpoint. */
export const grantTypes = ['authorization_code', 'refresh_token'] as const

/** The log line of a request, as listeners get it. */
export interface LoggedRequest extends Omit<LogFields, 'person'> {
  readonly id: string
  readonly at: number
  readonly method: string
  readonly route: string
  /** `CALLER_GONE` if the caller left before the answer. */
  readonly status: number
  /** Until the last byte of the answer, in milliseconds and fractions. */
  readonly tookMs: number
  /** As it may be kept. */
  readonly address: string | undefined
}

/** The status that the log has for a request whose caller left before the answer. */
export const CALLER_GONE = 499

export interface RequestListeners {
  readonly hear?: (line: LoggedRequest) => void
  /** The caller's address as it may be kept for longer than the log. */
  readonly shownAddress?: (address: string) => string | undefined
}

/**
 * Writes one JSON line for each request. The address is logged as the pattern that matched, because the real
 * one may have a code, a token or the id of an interaction; the query is never logged.
 *
 * Each request has an id. It is in the `X-Request-Id` header and is the error id that people and clients are
 * given, so that a quoted id leads to the line.
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
    Object.assign(ctx.state, { requestId: id, log: {}, shownAddress })
    ctx.set('X-Request-Id', id)
    let finished = false
    ctx.res.on('finish', () => {
      finished = true
    })
    // Emitted once, after the last byte or after the caller has left.
    ctx.res.on('close', () => {
      const tookMs = performance.now() - startedAtMs
      const line = {
        id,
        method: ctx.method,
        route: routeOf(ctx),
        status: finished ? ctx.res.statusCode : CALLER_GONE,
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

const ID_BYTES = 9
const IDS_AT_ONCE = 256

/** Makes ids of requests. Random bytes are drawn for many at once, because each draw is expensive. */
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

/** JSON prints no property of an error, so its stack stands for it. */
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

/** A request in the audit trail: its id, and the caller's address as far as it may be kept. */
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
  const { oidc, _matchedRoute } = ctx as { oidc?: { route?: string }; _matchedRoute?: unknown }
  const name: unknown = ctx.state['route'] ?? oidc?.route ?? _matchedRoute
  return typeof name === 'string' ? name : 'none'
}

/** Sets the route of a request that no router sees. */
export function nameRoute(ctx: Context, route: string): void {
  ctx.state['route'] = route
}
