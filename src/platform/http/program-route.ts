import type { Context, Middleware } from 'koa'

import { answerOriginsAlike } from './client-cors.ts'
import { answerFor, sendJsonError } from './error-handler.ts'

/** One address that programs call, beside those that a router of ours or the engine answers. */
export interface ProgramRoute {
  readonly path: string
  /** What the log calls it. */
  readonly name: string
  readonly methods: readonly ('GET' | 'POST')[]
  readonly answer: (ctx: Context) => Promise<void>
}

/**
 * The route of an address that is called so often that no router is asked for it. Its answers are
 * never kept, an error is JSON whatever the caller accepts, and no method that is not listed reaches
 * anything behind it.
 */
export function programRoute(route: ProgramRoute): Middleware {
  return async (ctx, next) => {
    if (ctx.path === route.path) await answerProgram(ctx, route)
    else await next()
  }
}

async function answerProgram(ctx: Context, { name, methods, answer }: ProgramRoute) {
  const method = ctx.method === 'HEAD' ? 'GET' : ctx.method
  const answered = methods.some((known) => known === method)
  if (!answered && method !== 'OPTIONS') return
  // Where a router leaves the pattern that matched, for the log.
  Object.assign(ctx, { _matchedRoute: name })
  if (answerOriginsAlike(ctx, methods) === 'settled') return
  await answerUnkept(ctx, answer)
}

/** Answers a program: nothing of it is kept, and an error is JSON whatever the caller accepts. */
export async function answerUnkept(ctx: Context, answer: ProgramRoute['answer']): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  try {
    await answer(ctx)
  } catch (error) {
    const { status, body } = answerFor(error, ctx)
    sendJsonError(ctx, status, body)
  }
}
