import type { Context, Middleware } from 'koa'
import compose from 'koa-compose'
import Router, { type RouterMiddleware } from 'koa-router'

import { answerCors } from './cors.ts'
import { responseTo, sendJsonError } from './error-handler.ts'
import { paths } from './paths.ts'
import { nameRoute } from './request-log.ts'

/** Creates a router that distinguishes letter case and trailing slashes (decision 3). */
export function makeRouter(): Router {
  return new Router({ sensitive: true, strict: true })
}

/** A path for programs. Its requests bypass the routers for speed, because they are very frequent. */
export interface ProgramRoute {
  readonly path: string
  readonly name: string
  readonly methods: readonly ('GET' | 'POST')[]
  readonly answer: (ctx: Context) => Promise<void>
}

/** Creates middleware for one path, with CORS and without caching. Errors are JSON. Other methods get 405. */
export function programRoute({ path, name, methods, answer }: ProgramRoute): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== path) return await next()
    const method = ctx.method === 'HEAD' ? 'GET' : ctx.method
    if (method !== 'OPTIONS' && !methods.some((known) => known === method)) return
    nameRoute(ctx, name)
    if (!answerCors(ctx, methods)) await answerUncached(ctx, answer)
  }
}

/** Calls `answer` with caching disabled, and sends its errors as JSON regardless of `Accept`. */
export async function answerUncached(ctx: Context, answer: ProgramRoute['answer']): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  try {
    await answer(ctx)
  } catch (error) {
    const { status, body } = responseTo(error, ctx)
    sendJsonError(ctx, status, body)
  }
}

/** A router, which handles only requests to its paths, or middleware, which runs at every path. */
export type Surface = Router | Middleware

/** Calls the surfaces in turn until one responds. For fixed paths, skips routers that cannot match, to save time. */
export function inOrder(surfaces: readonly Surface[]): RouterMiddleware {
  const everywhere = chain(surfaces)
  const byPath = new Map<string, RouterMiddleware>(
    Object.values(paths).map((path) => [
      path,
      chain(
        surfaces.filter(
          (surface) => !('routes' in surface) || surface.stack.some((layer) => layer.match(path)),
        ),
      ),
    ]),
  )
  return (ctx, next) => (byPath.get(ctx.path) ?? everywhere)(ctx, next)
}

function chain(surfaces: readonly Surface[]): RouterMiddleware {
  return compose(surfaces.map((surface) => ('routes' in surface ? surface.routes() : surface)))
}
