import type { Context, Middleware } from 'koa'

import { type ErrorPage, errorPage } from '../../../views/error.ts'
import { isRefusal, methodNotAllowed, nothingHere } from './errors.ts'
import { sendPublicPage } from './page.ts'
import { pages, paths } from './paths.ts'
import { logFields, requestIdOf } from './request-log.ts'

export interface ErrorBody {
  readonly error: string
  readonly error_description?: string | undefined
  readonly scope?: string | undefined
}

/**
 * Creates the error handler of our own routes (the engine has its own). The handler sends 404 or 405 if no route
 * responded. It sends deliberate errors, and errors from the body parser and router, to the caller. For any other
 * error, it sends `server_error` with the id of the log line.
 */
export function errorHandler(): Middleware {
  return async (ctx, next) => {
    try {
      await next()
      // A route that streams its response does not set ctx.body.
      if (ctx.status === 404 && ctx.body == null && !ctx.headerSent) refuseUnmatched(ctx)
    } catch (error) {
      const { status, body } = responseTo(error, ctx)
      sendError(ctx, status, body)
    }
  }
}

const { authorization, endSession, token, revocation, introspection, registration } = paths
const postOnly = new Set<string>([token, revocation, introspection, registration])
const takesPost = new Set<string>([...postOnly, authorization, endSession, paths.userinfo])
const known = new Set<string>(Object.values(paths))

/** Rejects an unhandled request. @throws nothingHere, or methodNotAllowed if the path accepts other methods */
function refuseUnmatched(ctx: Context): never {
  const { path } = ctx
  const method = ctx.method === 'HEAD' ? 'GET' : ctx.method
  const methods = [...(postOnly.has(path) ? [] : ['GET']), ...(takesPost.has(path) ? ['POST'] : [])]
  if (known.has(path) && ![...methods, 'OPTIONS'].includes(method)) {
    ctx.set('Allow', `${methods.join(', ')}, OPTIONS`)
    throw methodNotAllowed(methods.join(' and '))
  }
  throw nothingHere(seeksMetadata.test(ctx.path) ? METADATA_ELSEWHERE : undefined)
}

/** Matches metadata paths as requested by clients whose issuer setting has a path or a trailing slash. */
const seeksMetadata = /\/\.well-known\/(openid-configuration|oauth-authorization-server)\/?$/
const METADATA_ELSEWHERE = `the metadata is at ${paths.openidConfiguration}, so remove the path or trailing slash from the issuer`

/** Sends an error: as a page if browsers open the path and the client prefers HTML, otherwise as JSON. */
export function sendError(ctx: Context, status: number, body: ErrorBody): void {
  setError(ctx, status, body)
  // JSON comes first, so clients that accept any type get JSON.
  if (isForPeople(ctx.path) && ctx.accepts('json', 'html') === 'html') sendErrorPage(ctx, body)
  else ctx.body = body
}

/** Whether browsers open a path. At other paths, clients that prefer HTML, such as Java clients, still need JSON. */
const isForPeople = (path: string) =>
  path === authorization ||
  path === endSession ||
  !(known.has(path) || path.startsWith(`${paths.mcp}/`))

/** Sends an error as JSON, regardless of `Accept`. Logs the description if no reason is logged yet. */
export function sendJsonError(ctx: Context, status: number, body: ErrorBody): void {
  setError(ctx, status, body)
  logFields(ctx).detail ??= body.error_description
  ctx.body = body
}

function setError(ctx: Context, status: number, { error }: ErrorBody): void {
  ctx.status = status
  ctx.set('Cache-Control', 'no-store')
  logFields(ctx).error = error
  const isTemporary = status === 503 || (status === 429 && !ctx.response.get('Retry-After'))
  if (isTemporary) ctx.set('Retry-After', RETRY_AFTER_SECONDS)
}

/** The parts of the error page for a rejected redirect URI. */
export type RejectedUri = Pick<ErrorPage, 'sentAddress' | 'signOutHref' | 'app'>

/** Renders the error page. The caller has already set the status. */
export function sendErrorPage(ctx: Context, body: ErrorBody, rejected: RejectedUri = {}): void {
  // Two slashes at the start would lead to another host.
  const here = ctx.url.replace(/^\/+/, '/')
  const page = errorPage({
    code: body.error,
    description: body.error_description ?? 'The request failed. Try again later.',
    errorId: requestIdOf(ctx),
    connectHref: pages.connectHome,
    accountHref: pages.account,
    adminHref: ctx.path.startsWith(`${pages.admin}/`) ? pages.admin : undefined,
    switchHref: `${pages.switchAccount}?${new URLSearchParams({ to: here })}`,
    retryHref: ctx.method === 'GET' ? here : undefined,
    isOwn: ![paths.authorization, paths.endSession].some((path) => ctx.path.startsWith(path)),
    ...rejected,
  })
  sendPublicPage(ctx, page)
}

/** Returns the response body for an unexpected error: the id of its log line, but not its cause. */
export function faultBody(ctx: Context): ErrorBody {
  const error_description = `the service failed; try again later, or report error ID ${requestIdOf(ctx)} to the operator of this service`
  return { error: 'server_error', error_description }
}

/** The `Retry-After` of 503 responses, and the default for 429 responses, in seconds. */
export const RETRY_AFTER_SECONDS = '1'

/** Converts an error to a response, and logs its details. */
export function responseTo(error: unknown, ctx: Context): { status: number; body: ErrorBody } {
  const fields = logFields(ctx)
  if (isRefusal(error)) {
    const { statusCode: status, error: code, error_description, error_detail, cause } = error
    fields.detail = error_detail
    if (cause) fields.cause = String(cause)
    return { status, body: { error: code, ...(error_description && { error_description }) } }
  }
  if (isHttpError(error)) {
    const { status, message: error_description } = error
    return { status, body: { error: 'invalid_request', error_description } }
  }
  fields.cause = error
  ctx.app.emit('error', error, ctx)
  return { status: 500, body: faultBody(ctx) }
}

/** Whether an error comes from a body parser or the router, and its message may be shown to the caller. */
function isHttpError(error: unknown): error is Error & { status: number } {
  if (!(error instanceof Error)) return false
  const { expose, status } = error as { expose?: unknown; status?: unknown }
  return expose === true && typeof status === 'number'
}
