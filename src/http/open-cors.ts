import cors from '@koa/cors'
import type { Middleware } from 'koa'

const PREFLIGHT_SECONDS = 600

/**
 * Lets pages of any origin call an endpoint, without credentials (design 28): what they may do
 * depends on what they present, never on a cookie of the person. The challenge and the time to wait
 * are readable, because a client in a page has to act on them.
 */
export function openCors(methods: readonly string[]): Middleware {
  return cors({
    origin: '*',
    allowMethods: [...methods],
    allowHeaders: [
      'Authorization',
      'Content-Type',
      'Idempotency-Key',
      'MCP-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
      'Mcp-Session-Id',
      'Last-Event-ID',
    ],
    exposeHeaders: ['WWW-Authenticate', 'Retry-After', 'X-Request-Id'],
    maxAge: PREFLIGHT_SECONDS,
  })
}
