import type { Context, Middleware } from 'koa'

import { nothingHere, nulInRequest } from './errors.ts'
import { addressOf, changePaths, enginePages, paths, planPaths, toolPaths } from './paths.ts'
import { refuseCompressed } from './request-body.ts'

/** The name of the setting that stores when the service last warned about an ignored X-Forwarded-For. */
export const PROXY_IGNORED = 'proxy_ignored_at'

/**
 * Replaces or removes Host and the X-Forwarded headers that Koa reads, so the service derives all its URLs from
 * {base_url} (design 1). Otherwise, the engine would use these headers for every advertised URL and for the cookies'
 * `secure` flag. `state.presentedHost` keeps the original Host for endpoints that reject foreign hosts. Keeps
 * X-Forwarded-For only behind a trusted proxy, and only the last entry, which that proxy added.
 *
 * @param noteIgnored called for each request before X-Forwarded-For is removed; undefined if the proxy is trusted
 */
export function pinnedHost(
  baseUrl: string,
  noteIgnored: ((ctx: Context) => void) | undefined,
): Middleware {
  const { host, protocol } = new URL(baseUrl)
  const scheme = protocol.slice(0, -1)
  return (ctx, next) => {
    const { headers } = ctx.req
    ctx.state['presentedHost'] = headers.host
    headers.host = host
    ctx.url = ctx.originalUrl = ctx.request.originalUrl = requestPath(ctx.originalUrl)
    delete headers['x-forwarded-host']
    headers['x-forwarded-proto'] = scheme
    noteIgnored?.(ctx)
    const caller = !noteIgnored && ctx.get('x-forwarded-for').split(',').at(-1)?.trim()
    if (caller) headers['x-forwarded-for'] = caller
    else delete headers['x-forwarded-for']
    return next()
  }
}

function requestPath(target: string): string {
  if (target.startsWith('/')) return target.replace(slashedTools, '$1')
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** Matches tool endpoints and their metadata with a trailing slash, which people often add (decision 3). */
const slashedTools = new RegExp(`^((?:${toolPaths.join('|')}))/(?=\\?|$)`)

/**
 * Responds with 404 to noncanonical paths for programs and for the engine's pages, as `router.ts` does for other pages.
 * The engine's router ignores letter case and a trailing slash, so `/API/OAuth/Token/` would bypass every check that
 * compares paths.
 */
export function canonicalPath(): Middleware {
  const patterns = [paths, changePaths, planPaths, enginePages].flatMap((table) =>
    Object.values(table),
  )
  const escaped = patterns.map((path) => path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+'))
  const exact = new RegExp(`^(${escaped.join('|')})$`)
  const folded = new RegExp(`^(${escaped.join('|')})/?$`, 'i')
  const plain: ReadonlySet<string> = new Set(patterns)
  return (ctx, next) => {
    const { path } = ctx
    const isOther = !plain.has(path) && folded.test(path) && !exact.test(path)
    return isOther ? undefined : next()
  }
}

const upstream = addressOf(paths.upstream, { path: '' })
const protocolPaths: ReadonlySet<string> = new Set(Object.values(paths))
/** Endpoints that reject compressed bodies themselves, to send their own headers with the response. */
const answeredInFull: ReadonlySet<string> = new Set([paths.userinfo, paths.introspection])
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Rejects requests with a compressed body, a fragment, a NUL in the URL, or a path that is not valid UTF-8. Endpoints
 * for programs validate their own parameters. Requests to the platform API are validated when they are forwarded.
 *
 * @throws unsupportedBody, nothingHere or nulInRequest
 */
export function plainRequest(): Middleware {
  return (ctx, next) => {
    const { path, url, querystring } = ctx
    // A request target must not contain a fragment (RFC 9112 §3.2), and a proxy could parse it differently.
    if (url.includes('#')) throw nothingHere()
    if (path.startsWith(upstream)) return next()
    if (methodsWithBody.has(ctx.method) && !answeredInFull.has(path)) refuseCompressed(ctx)
    if (path.includes('%') && !isText(path)) throw nothingHere()
    if (querystring.includes('%00') && !protocolPaths.has(path)) throw nulInRequest()
    return next()
  }
}

function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0')
  } catch {
    return false
  }
}
