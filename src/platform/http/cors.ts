import cors from '@koa/cors'
import type { Context, Middleware } from 'koa'

const allowHeaders = [
  'Authorization,Content-Type,DPoP,Idempotency-Key',
  'MCP-Protocol-Version,Mcp-Method,Mcp-Name,Mcp-Session-Id,Last-Event-ID',
  // GraphQL clients send these by default, such as those of Apollo and urql against CSRF.
  'apollographql-client-name,apollographql-client-version,apollo-require-preflight',
  'x-apollo-operation-name,x-apollo-operation-id,x-apollo-operation-type',
  'graphql-preflight,graphql-require-preflight,GraphQL-CSRF,X-CSRF-Token,X-Requested-With',
  'Cache-Control,Pragma,traceparent,tracestate',
]

/**
 * Lets pages of any origin call an endpoint without credentials (design 28): access depends on the token, never on
 * a cookie. Exposes the challenge and Retry-After, because clients in pages need them.
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
 * Lets pages of any origin call a protocol endpoint without credentials, like the engine does at its own
 * (design 28). `isForeignToPages` decides later whether this client may be used in a page.
 *
 * @returns whether this answered the request, which was an OPTIONS request
 */
export function answerCors(ctx: Context, methods: readonly string[]): boolean {
  ctx.vary('Origin')
  const origin = ctx.get('Origin') || '*'
  if (ctx.method !== 'OPTIONS') {
    ctx.set('Access-Control-Allow-Origin', origin)
    ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
    return false
  }
  // Any other OPTIONS request is 404.
  if (!ctx.get('Access-Control-Request-Method')) return true
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Max-Age', '3600')
  ctx.set('Access-Control-Allow-Methods', methods.join(','))
  const headers = ctx.get('Access-Control-Request-Headers')
  if (headers) ctx.set('Access-Control-Allow-Headers', headers)
  ctx.status = 204
  return true
}

/** The reason of the refusal, without caller input. */
export const FOREIGN_TO_PAGES =
  'this client has a secret, so pages of other origins must not use it'

/**
 * Whether a page uses a confidential client, whose secret would be in every browser. Then removes the CORS header,
 * so that the page cannot read the answer and the developer notices.
 */
export function isForeignToPages(
  ctx: Context,
  client: { readonly authMethod: string } | undefined,
): boolean {
  if (!ctx.get('Origin') || !client || client.authMethod === 'none') return false
  ctx.remove('Access-Control-Allow-Origin')
  return true
}
