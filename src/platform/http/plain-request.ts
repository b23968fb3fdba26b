import type { Context, Middleware } from 'koa'

import { nothingHere, nulInRequest, unsupportedBody } from './errors.ts'
import { addressOf, paths } from './paths.ts'

const upstream = addressOf(paths.upstream, { path: '' })
const protocol: ReadonlySet<string> = new Set(Object.values(paths))
/** These say it with all that their other answers carry, when they read their form. */
const answeredInFull: ReadonlySet<string> = new Set([paths.userinfo, paths.introspection])
/** The methods whose body means something. */
const withBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Refuses what no route of ours reads, before any of them tries: a body that is packed, by whatever name of
 * a packing, and NUL, broken UTF-8 or a fragment in an address. No store looks for either, and PostgreSQL fails where
 * it should find nothing. The parameters of the protocol's own endpoints are judged there one by one, and
 * what goes on to the platform's own API is judged on the way.
 *
 * @throws unsupportedBody, nothingHere or nulInRequest
 */
export function plainRequest(): Middleware {
  return (ctx, next) => {
    const { path } = ctx
    refuseFragment(ctx)
    if (path.startsWith(upstream)) return next()
    if (withBody.has(ctx.method) && !answeredInFull.has(path)) refusePacked(ctx)
    if (path.includes('%') && !isText(path)) throw nothingHere()
    if (ctx.querystring.includes('%00') && !protocol.has(path)) throw nulInRequest()
    return next()
  }
}

/** A target has none (RFC 9112 §3.2), and a proxy in front would read such a one otherwise. */
function refuseFragment({ url }: Context): void {
  if (url.includes('#')) throw nothingHere()
}

/**
 * Refuses a body that is packed, whose real size nobody knows beforehand.
 *
 * @throws unsupportedBody, with `Accept-Encoding: identity` (RFC 9110 §12.5.3)
 */
export function refusePacked(ctx: Context): void {
  if (!isPacked(ctx.get('content-encoding'))) return
  ctx.set('Accept-Encoding', 'identity')
  throw unsupportedBody('sent without compression')
}

function isPacked(encoding: string): boolean {
  return encoding !== '' && encoding.trim().toLowerCase() !== 'identity'
}

function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0')
  } catch {
    return false
  }
}
