import type { Middleware } from 'koa'

/**
 * Lets each address of the engine be spelled in one way only, as `router.ts` does for our own.
 *
 * The engine's router ignores letter case and one trailing slash, so that `/API/OAuth/Token/` would
 * reach the token endpoint past everything in front that compares paths. Such a spelling is 404 here.
 *
 * @param patterns addresses, with `:name` for a segment that may be anything
 */
export function canonicalPath(patterns: readonly string[]): Middleware {
  const escaped = patterns.map((path) => path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+'))
  const exact = new RegExp(`^(${escaped.join('|')})$`)
  const folded = new RegExp(`^(${escaped.join('|')})/?$`, 'i')
  const plain = new Set(patterns)
  return (ctx, next) => {
    const { path } = ctx
    const isOther = !plain.has(path) && folded.test(path) && !exact.test(path)
    return isOther ? undefined : next()
  }
}
