import { randomFillSync } from 'node:crypto'

import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'

/** Fields that routes add to the log line of their request. They must not contain tokens or codes. */
export interface LogFields {
  client?: string | undefined
  person?: string | undefined
  /** The tool, prompt or kind of resource that a request to a tool endpoint names. */
  tool?: string | undefined
  upstream?: string | undefined
  grantType?: (typeof grantTypes)[number] | undefined
  trace?: string | undefined
  /** The outcome of a token request, introspection, tool call or GraphQL operation, if the status does not show it. */
  outcome?: 'repeated' | 'reused' | 'active' | 'inactive' | 'problem' | 'errors' | undefined
  error?: string | undefined
  /** The reason for a refusal, often in more detail than in the response. */
  detail?: string | undefined
  cause?: unknown
}

export const grantTypes = ['authorization_code', 'refresh_token'] as const

/** The log line of a request, as passed to listeners. */
export interface LoggedRequest extends Omit<LogFields, 'person'> {
  readonly id: string
  readonly at: number
  readonly method: string
  readonly route: string
  /** The response status, or `CALLER_GONE`. */
  readonly status: number
  /** The time until the last byte of the response or until the caller disconnected, in fractional milliseconds. */
  readonly tookMs: number
  /** The client IP address, shortened as configured. */
  readonly address: string | undefined
}

/** The logged status if the caller disconnected before the response was complete. */
export const CALLER_GONE = 499

export interface RequestListeners {
  readonly onRequest?: (line: LoggedRequest) => void
  /** Shortens a client IP address for the audit trail. */
  readonly shownAddress?: (address: string) => string | undefined
}

/**
 * Assigns each request an id, and logs the request as one JSON line. `X-Request-Id` and error pages show the id. The
 * line has the matched route pattern instead of the URL, which may contain a code, a token or an interaction id.
 */
export function requestLog(
  logger: Logger,
  now: () => number,
  { onRequest = () => {}, shownAddress = () => undefined }: RequestListeners = {},
): Middleware {
  const nextId = makeRandomIds(9)
  return (ctx, next) => {
    const startedAtMs = performance.now()
    const id = nextId()
    const address = shownAddress(ctx.ip)
    Object.assign(ctx.state, { requestId: id, log: {}, address })
    ctx.set('X-Request-Id', id)
    let finished = false
    ctx.res.on('finish', () => {
      finished = true
    })
    // `close` is emitted once: after the last byte, or when the caller disconnects.
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
      onRequest({ ...line, at: now(), tookMs, address })
    })
    return next()
  }
}

const IDS_AT_ONCE = 256

/** Creates a generator of random ids. Gets the bytes of 256 ids at once, because each call to the system takes 2 µs. */
export function makeRandomIds(bytes: number): () => string {
  const pool = Buffer.alloc(bytes * IDS_AT_ONCE)
  let used = pool.length
  return () => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += bytes
    return pool.toString('base64url', used - bytes, used)
  }
}

/** Converts an error in `cause` to its stack trace, because JSON omits the properties of errors. */
function printable({ cause, ...fields }: LogFields): LogFields {
  if (cause === undefined) return fields
  return { ...fields, cause: cause instanceof Error ? cause.stack : cause }
}

/** Returns the mutable extra fields of this request's log line. */
export function logFields(ctx: Pick<Context, 'state'>): LogFields {
  ctx.state['log'] ??= {}
  return ctx.state['log']
}

/** Returns the request id, which is also the error id. */
export function requestIdOf(ctx: Context): string {
  return String(ctx.state['requestId'] ?? '')
}

/** The request that caused an audit event: its id, and the client IP address, shortened as configured. */
export interface NamedRequest {
  readonly requestId: string
  readonly address?: string | undefined
}

export function callerOf(ctx: Context): NamedRequest {
  return { requestId: requestIdOf(ctx), address: ctx.state['address'] }
}

/** Returns the route for the log: the name set by `nameRoute`, the engine's route name, our path pattern, or `none`. */
export function routeOf(ctx: Context): string {
  const { oidc, _matchedRoute } = ctx as { oidc?: { route?: string }; _matchedRoute?: unknown }
  const name: unknown = ctx.state['route'] ?? oidc?.route ?? _matchedRoute
  return typeof name === 'string' ? name : 'none'
}

/** Sets the route for the log, for a request that no router handles. */
export function nameRoute(ctx: Context, route: string): void {
  ctx.state['route'] = route
}
