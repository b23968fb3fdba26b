import type { Context, Middleware } from 'koa'
import Router, { type RouterMiddleware } from 'koa-router'

import { answerCors } from './cors.ts'
import { answerFor, sendJsonError } from './error-handler.ts'
import { paths } from './paths.ts'

/**
 * The router of every part: a path has one spelling, to the letter's case and the slash at its end
 * (docs/decisions/0003-one-spelling-per-address.md).
 */
export function makeRouter(): Router {
  return new Router({ sensitive: true, strict: true })
}

/** A path for programs that has no router, because it is called very often. */
export interface ProgramRoute {
  readonly path: string
  /** Its name in the log. */
  readonly name: string
  readonly methods: readonly ('GET' | 'POST')[]
  readonly answer: (ctx: Context) => Promise<void>
}

/** Answers are not cached, errors are JSON whatever the caller accepts, and other methods are not served. */
export function programRoute(route: ProgramRoute): Middleware {
  return async (ctx, next) => {
    if (ctx.path === route.path) await answerProgram(ctx, route)
    else await next()
  }
}

async function answerProgram(ctx: Context, { name, methods, answer }: ProgramRoute) {
  const method = ctx.method === 'HEAD' ? 'GET' : ctx.method
  if (method !== 'OPTIONS' && !methods.some((known) => known === method)) return
  // Routers leave the matched pattern here, for the log.
  Object.assign(ctx, { _matchedRoute: name })
  if (!answerCors(ctx, methods)) await answerUnkept(ctx, answer)
}

/** Answers a program: nothing is cached, and an error is JSON whatever the caller accepts. */
export async function answerUnkept(ctx: Context, answer: ProgramRoute['answer']): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  try {
    await answer(ctx)
  } catch (error) {
    const { status, body } = answerFor(error, ctx)
    sendJsonError(ctx, status, body)
  }
}

/** A router, which serves its own paths, or middleware, which sees every request. */
export type Surface = Router | Middleware

/**
 * Passes a request to each surface in turn, until one answers.
 *
 * A router compares a request with each of its patterns, and the routers of the pages have dozens. Which
 * routers serve a path for programs is known beforehand, so the others are skipped.
 */
export function inOrder(surfaces: readonly Surface[]): RouterMiddleware {
  const everywhere = chain(surfaces)
  const byPath = new Map<string, RouterMiddleware>(
    Object.values(paths).map((path) => [
      path,
      chain(surfaces.filter((surface) => mayAnswer(surface, path))),
    ]),
  )
  return (ctx, next) => (byPath.get(ctx.path) ?? everywhere)(ctx, next)
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
