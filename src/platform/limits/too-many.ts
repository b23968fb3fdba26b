import type { Context } from 'koa'

import { sendErrorPage, sendJsonError } from '../http/error-handler.ts'
import { tooManyRequests } from '../http/errors.ts'
import { logFields } from '../http/request-log.ts'
import type { Exceeded } from './limits.ts'

/** How a surface says that something was asked too often. */
export type Shape = 'page' | 'json' | 'graphql' | 'message'

/** A server error of JSON-RPC 2.0 that the implementation defines (§5.1). */
const TOO_MANY = -32_029

const readable = 'Retry-After, RateLimit, RateLimit-Policy, X-Request-Id'

/** Answers 429, in the words of the surface. */
export function answerTooMany(ctx: Context, exceeded: Exceeded, shape: Shape): void {
  tellLimit(ctx, exceeded)
  // The middleware that says so at each endpoint stands behind this, and a page has to read when to come back.
  if (shape !== 'page' && ctx.get('Origin')) {
    ctx.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': readable })
  }
  if (shape === 'page') sendPage(ctx, exceeded)
  else if (shape === 'json') sendJsonError(ctx, 429, body)
  else sendError(ctx, shape, exceeded)
}

/** The refusal for a route that throws those; the headers are set. */
export function refusalOf(
  ctx: Pick<Context, 'set' | 'state'>,
  exceeded: Exceeded,
): ReturnType<typeof tooManyRequests> {
  tellLimit(ctx, exceeded)
  return tooManyRequests()
}

/** What a program is told. */
const { error: code, error_description: description = '' } = tooManyRequests()
const body = { error: code, error_description: description }

/**
 * When to come back, for every client, and what was used up, for those that pace themselves
 * (draft-ietf-httpapi-ratelimit-headers-10; the parameters `r` and `t` are what clients read).
 */
function tellLimit(ctx: Pick<Context, 'set' | 'state'>, { limit, waitSeconds }: Exceeded): void {
  const { policyName, max, windowSeconds } = limit
  ctx.set({
    'Retry-After': String(waitSeconds),
    RateLimit: `"${policyName}";r=0;t=${waitSeconds}`,
    'RateLimit-Policy': `"${policyName}";q=${max};w=${windowSeconds}`,
  })
  logFields(ctx).detail = `the limit ${limit.name} is reached`
}

function sendPage(ctx: Context, { waitSeconds }: Exceeded): void {
  ctx.status = 429
  ctx.set('Cache-Control', 'no-store')
  logFields(ctx).error = body.error
  const minutes = Math.ceil(waitSeconds / 60)
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`
  sendErrorPage(ctx, {
    error: body.error,
    error_description: `More was asked for than this service answers at once, by you or by others in your network. Please wait ${wait}, then load the page again.`,
  })
}

function sendError(ctx: Context, shape: 'graphql' | 'message', { waitSeconds }: Exceeded): void {
  sendJsonError(ctx, 429, body)
  if (shape === 'message') {
    const data = { error: body.error, retryAfterSeconds: waitSeconds }
    const error = { code: TOO_MANY, message: description, data }
    ctx.body = { jsonrpc: '2.0', error, id: null }
    return
  }
  const extensions = { code: 'TOO_MANY_REQUESTS', retryAfterSeconds: waitSeconds }
  const knows = ctx.get('Accept').includes('graphql-response+json')
  ctx.body = JSON.stringify({ errors: [{ message: description, extensions }] })
  ctx.type = `application/${knows ? 'graphql-response+json' : 'json'}; charset=utf-8`
}
