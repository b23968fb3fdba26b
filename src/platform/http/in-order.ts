import type { Middleware } from 'koa'
import type Router from 'koa-router'
import type { RouterMiddleware } from 'koa-router'

import { paths } from './paths.ts'

/** What sees a request: a router, which answers at its own addresses, or what sees every request. */
export type Surface = Router | Middleware

/**
 * Lets each surface see a request in turn, until one answers.
 *
 * A router compares a request with every one of its patterns, and the routers of the pages have
 * dozens. For the addresses of programs it is known beforehand which routers have a route there, and
 * the others are not asked.
 */
export function inOrder(surfaces: readonly Surface[]): RouterMiddleware {
  const everywhere = chain(surfaces)
  const at = new Map<string, RouterMiddleware>(
    Object.values(paths).map((path) => [
      path,
      chain(surfaces.filter((surface) => mayAnswer(surface, path))),
    ]),
  )
  return (ctx, next) => (at.get(ctx.path) ?? everywhere)(ctx, next)
}

function mayAnswer(surface: Surface, path: string): boolean {
  return !('routes' in surface) || surface.stack.some((layer) => layer.match(path))
}

function chain(surfaces: readonly Surface[]): RouterMiddleware {
  const middleware = surfaces.map((surface): RouterMiddleware => {
    return 'routes' in surface ? surface.routes() : surface
  })
  return (ctx, next) => {
    const step = async (index: number): Promise<unknown> => {
      const one = middleware[index]
      return await (one ? one(ctx, () => step(index + 1)) : next())
    }
    return step(0)
  }
}
