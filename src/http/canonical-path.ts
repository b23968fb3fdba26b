import type { Middleware } from 'koa'

/**
 * Lets each fixed address be spelled in one way only.
 *
 * The engine's router ignores letter case and one trailing slash, so that `/API/OAuth/Token/` would
 * reach the token endpoint past everything in front that compares paths. Such a spelling is 404 here.
 */
export function canonicalPath(fixedPaths: Iterable<string>): Middleware {
  const fixed = new Set(fixedPaths)
  return async (ctx, next) => {
    const canonical = ctx.path.toLowerCase().replace(/\/$/, '')
    if (ctx.path !== canonical && fixed.has(canonical)) return
    await next()
  }
}
