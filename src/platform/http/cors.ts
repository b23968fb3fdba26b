import cors from '@koa/cors'
import type { Context, Middleware } from 'koa'

/** What clients of GraphQL send by themselves: Apollo's, urql's and other marks against forged forms. */
const graphqlHeaders = [
  'apollographql-client-name',
  'apollographql-client-version',
  'apollo-require-preflight',
  'x-apollo-operation-name',
  'x-apollo-operation-id',
  'x-apollo-operation-type',
  'graphql-preflight',
  'graphql-require-preflight',
  'GraphQL-CSRF',
  'X-CSRF-Token',
  'X-Requested-With',
  'Cache-Control',
  'Pragma',
  'traceparent',
  'tracestate',
]

const allowHeaders = [
  'Authorization',
  'Content-Type',
  'DPoP',
  'Idempotency-Key',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Session-Id',
  'Last-Event-ID',
  ...graphqlHeaders,
]

/**
 * Lets pages of any origin call an endpoint without credentials (design 28): what they may do depends on what
 * they present, never on a cookie. The challenge and the time to wait are readable, because a client in a page
 * acts on them.
 */
export function openCors(methods: readonly string[]): Middleware {
  return cors({
    origin: '*',
    allowMethods: [...methods],
    allowHeaders,
    exposeHeaders: ['WWW-Authenticate', 'DPoP-Nonce', 'Retry-After', 'X-Request-Id'],
    maxAge: 600,
  })
}

/**
 * Lets pages of any origin call an endpoint of the protocol, as the engine does at its own (design 28): without
 * credentials, and with the challenge readable. Whether the client may live in a page is decided later, by
 * `isForeignToPages`.
 *
 * @returns whether this answered the request, which was only about CORS
 */
export function answerCors(ctx: Context, methods: readonly string[]): boolean {
  ctx.vary('Origin')
  const origin = ctx.get('Origin') || '*'
  if (ctx.method !== 'OPTIONS') {
    ctx.set('Access-Control-Allow-Origin', origin)
    ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
    return false
  }
  // An OPTIONS request that is no preflight is 404.
  if (!ctx.get('Access-Control-Request-Method')) return true
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Max-Age', '3600')
  ctx.set('Access-Control-Allow-Methods', methods.join(','))
  const headers = ctx.get('Access-Control-Request-Headers')
  if (headers) ctx.set('Access-Control-Allow-Headers', headers)
  ctx.status = 204
  return true
}

/** Why a page is refused; repeats nothing that a caller sent. */
export const FOREIGN_TO_PAGES = 'this client is not one that pages of other origins may use'

/**
 * Whether a page uses a client that has a secret, which every browser would then have. The page cannot read
 * the answer, so that the developer notices.
 */
export function isForeignToPages(
  ctx: Context,
  client: { readonly authMethod: string } | undefined,
): boolean {
  if (!ctx.get('Origin') || !client || client.authMethod === 'none') return false
  ctx.remove('Access-Control-Allow-Origin')
  return true
}
