import cors from '@koa/cors'
import type { Middleware } from 'koa'

const PREFLIGHT_SECONDS = 600

/**
 * What clients of GraphQL send of their own accord: Apollo's clients and its Sandbox, urql's and
 * others' marks against forged forms. None of them means anything here.
 */
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
      'DPoP',
      'Idempotency-Key',
      'MCP-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
      'Mcp-Session-Id',
      'Last-Event-ID',
      ...graphqlHeaders,
    ],
    exposeHeaders: ['WWW-Authenticate', 'DPoP-Nonce', 'Retry-After', 'X-Request-Id'],
    maxAge: PREFLIGHT_SECONDS,
  })
}
