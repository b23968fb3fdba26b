import type { Context } from 'koa'

import { sendErrorPage, sendJsonError } from '../http/error-handler.ts'
import { tooManyRequests } from '../http/errors.ts'
import { logFields } from '../http/request-log.ts'
import type { Exceeded } from './limits.ts'

export type ErrorShape = 'page' | 'json' | 'graphql' | 'message'

/** The JSON-RPC error code for an exceeded limit, from the range for server errors (JSON-RPC 2.0 §5.1). */
const TOO_MANY = -32_029
const EXPOSED_HEADERS = 'Retry-After, RateLimit, RateLimit-Policy, X-Request-Id'

const { error: code, error_description: description = '' } = tooManyRequests()
const body = { error: code, error_description: description }

/** Responds with 429 if a limit is exceeded. @returns whether it responded */
export function answerTooMany(
  ctx: Context,
  exceeded: Exceeded | undefined,
  shape: ErrorShape,
): boolean {
  if (!exceeded) return false
  setLimitHeaders(ctx, exceeded)
  // The endpoint's CORS middleware may not have run, and clients in browsers need Retry-After.
  if (shape !== 'page' && ctx.get('Origin')) {
    ctx.set({
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': EXPOSED_HEADERS,
    })
  }
  if (shape === 'page') sendLimitPage(ctx, exceeded)
  else sendJsonError(ctx, 429, body)
  if (shape === 'message') {
    const data = { error: code, retryAfterSeconds: exceeded.waitSeconds }
    const error = { code: TOO_MANY, message: description, data }
    ctx.body = { jsonrpc: '2.0', error, id: null }
  }
  if (shape === 'graphql') {
    const extensions = { code: 'TOO_MANY_REQUESTS', retryAfterSeconds: exceeded.waitSeconds }
    const isKnown = ctx.get('Accept').includes('graphql-response+json')
    ctx.body = JSON.stringify({ errors: [{ message: description, extensions }] })
    ctx.type = `application/${isKnown ? 'graphql-response+json' : 'json'}; charset=utf-8`
  }
  return true
}

/** If a limit is exceeded, sets the limit headers and rejects the request. @throws tooManyRequests */
export function refuseTooMany(
  ctx: Pick<Context, 'set' | 'state'>,
  exceeded: Exceeded | undefined,
): void {
  if (!exceeded) return
  setLimitHeaders(ctx, exceeded)
  throw tooManyRequests()
}

/** Sets the headers for an exceeded limit (draft-ietf-httpapi-ratelimit-headers-10), and logs the limit. */
function setLimitHeaders(
  ctx: Pick<Context, 'set' | 'state'>,
  { limit, waitSeconds }: Exceeded,
): void {
  const { policyName, max, windowSeconds } = limit
  ctx.set({
    'Retry-After': String(waitSeconds),
    RateLimit: `"${policyName}";r=0;t=${waitSeconds}`,
    'RateLimit-Policy': `"${policyName}";q=${max};w=${windowSeconds}`,
  })
  logFields(ctx).detail = `the limit ${limit.name} was exceeded`
}

function sendLimitPage(ctx: Context, { waitSeconds }: Exceeded): void {
  ctx.status = 429
  ctx.set('Cache-Control', 'no-store')
  logFields(ctx).error = code
  const minutes = Math.ceil(waitSeconds / 60)
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`
  const error_description = `You or others on your network sent too many requests. Wait ${wait}, then reload the page.`
  sendErrorPage(ctx, { error: code, error_description })
}
