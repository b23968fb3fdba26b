import cors from '@koa/cors'
import type { Context, Middleware } from 'koa'

const allowHeaders = [
  'Authorization,Content-Type,DPoP,Idempotency-Key',
  'MCP-Protocol-Version,Mcp-Method,Mcp-Name,Mcp-Session-Id,Last-Event-ID',
  // GraphQL clients send the headers in the next three lines, to identify an operation or to force a preflight.
  'apollographql-client-name,apollographql-client-version,apollo-require-preflight',
  'x-apollo-operation-name,x-apollo-operation-id,x-apollo-operation-type',
  'graphql-preflight,graphql-require-preflight,GraphQL-CSRF,X-CSRF-Token,X-Requested-With',
  'Cache-Control,Pragma,traceparent,tracestate',
]

/** Creates middleware that allows CORS from any origin, without cookies. Access depends on the token (design 28). */
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
 * Sets the CORS headers of a protocol endpoint for any origin, as the engine does at its endpoints (design 28).
 *
 * @returns whether this was an OPTIONS request, which needs no further response
 */
export function answerCors(ctx: Context, methods: readonly string[]): boolean {
  ctx.vary('Origin')
  const origin = ctx.get('Origin') || '*'
  if (ctx.method !== 'OPTIONS') {
    ctx.set('Access-Control-Allow-Origin', origin)
    ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
    return false
  }
  // An OPTIONS request that is not a preflight gets 404.
  if (!ctx.get('Access-Control-Request-Method')) return true
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Max-Age', '3600')
  ctx.set('Access-Control-Allow-Methods', methods.join(','))
  const headers = ctx.get('Access-Control-Request-Headers')
  if (headers) ctx.set('Access-Control-Allow-Headers', headers)
  ctx.status = 204
  return true
}

/** The error description if a script on a page uses a confidential client. */
export const SECRET_IN_BROWSER =
  'scripts in a browser must not use a confidential client; use a public client'

/**
 * Whether a script on a page uses a confidential client. Such a page would give the credentials to every visitor. In
 * this case, removes the CORS header, so that the page cannot read the response and the developer notices the mistake.
 */
export function hasSecretInBrowser(
  ctx: Context,
  client: { readonly authMethod: string } | undefined,
): boolean {
  if (!ctx.get('Origin') || !client || client.authMethod === 'none') return false
  ctx.remove('Access-Control-Allow-Origin')
  return true
}
