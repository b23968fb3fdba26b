import type { Middleware } from 'koa'

/**
 * Makes {base_url} the only address that the service knows of itself (design 1).
 *
 * The engine derives every advertised URL and the cookies' `secure` flag from the request's Host
 * and X-Forwarded-* headers, so that `Host: evil.example` would appear in discovery. Whatever a
 * caller sent there is replaced before anything reads it; `state.presentedHost` keeps the original
 * for surfaces that have to refuse a foreign one.
 *
 * X-Forwarded-For is left in place only behind a trusted proxy, and then its last entry counts: the
 * one which that proxy itself wrote.
 */
export function pinnedHost(baseUrl: string, trustProxy: boolean): Middleware {
  const { host, protocol } = new URL(baseUrl)
  const scheme = protocol.slice(0, -1)
  return (ctx, next) => {
    const { headers } = ctx.req
    ctx.state['presentedHost'] = headers.host
    headers.host = host
    ctx.url = ctx.originalUrl = ctx.request.originalUrl = pathOf(ctx.originalUrl)
    delete headers['x-forwarded-host']
    headers['x-forwarded-proto'] = scheme
    const caller = trustProxy && ctx.get('x-forwarded-for').split(',').at(-1)?.trim()
    if (caller) headers['x-forwarded-for'] = caller
    else delete headers['x-forwarded-for']
    return next()
  }
}

function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}
