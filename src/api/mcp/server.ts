import {
  createMcpHandler,
  isLegacyRequest,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'

import { callTool } from './call-tool.ts'
import { type Exchange, orFail } from './exchange.ts'
import { instructionsOf } from './instructions.ts'
import { offerCompletions } from './offer-completions.ts'
import { offerPrompts } from './offer-prompts.ts'
import { offerResources } from './offer-resources.ts'
import { protocolVersions } from './protocol-versions.ts'
import { identityOf, type ToolParts } from './tool.ts'
import { findTool, listedTools } from './tool-catalogue.ts'
import { unknownToolWords } from './unknown-tool.ts'

/** Streams of `subscriptions/listen` open at once; nothing is ever sent on one. */
const SUBSCRIPTIONS_MAX = 64

/**
 * The official SDK behind one function, for both generations of the protocol (design 23): revision
 * 2026-07-28, and the family of 2025 without sessions. A new `Server` is made for
 * each request and shares nothing with another, so that no caller's state can reach the next.
 *
 * The SDK decides nothing about tokens: whoever calls has been judged by the route.
 */
export function makeToolServer(parts: ToolParts) {
  const exchanges = new WeakMap<Request, Exchange>()
  const makeServer = ({ requestInfo }: McpRequestContext) =>
    serverFor(requestInfo && exchanges.get(requestInfo), parts)
  const modern = createMcpHandler(makeServer, {
    legacy: 'reject',
    maxSubscriptions: SUBSCRIPTIONS_MAX,
  })
  return {
    /** Answers one JSON-RPC message; aborting the request's signal ends the work on it. */
    async answer(request: Request, message: unknown, exchange: Exchange): Promise<Response> {
      if (await isLegacyRequest(request, message)) {
        return await answerLegacy(serverFor(exchange, parts), request, message)
      }
      exchanges.set(request, exchange)
      return await modern.fetch(request, { parsedBody: message })
    },
  }
}

function serverFor(exchange: Exchange | undefined, parts: ToolParts): Server {
  if (!exchange) throw new Error('a request came to the tools past the route')
  const { sender } = exchange
  const server = new Server(identityOf(parts), {
    instructions: instructionsOf(sender, parts),
    supportedProtocolVersions: [...protocolVersions],
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    cacheHints: Object.fromEntries(listMethods.map((method) => [method, NOT_KEPT])),
  })
  offerTools(server, exchange, parts)
  offerPrompts(server, sender)
  offerResources(server, exchange, parts)
  offerCompletions(server, exchange, parts)
  return server
}

/** What is listed and read depends on the token, so that nobody may keep it for another request. */
const NOT_KEPT = { ttlMs: 0, cacheScope: 'private' } as const
const listMethods = [
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]

function offerTools(server: Server, exchange: Exchange, parts: ToolParts): void {
  const { sender } = exchange
  const { caller, address } = sender
  server.setRequestHandler('tools/list', () => ({ tools: listedTools(caller, address).tools }))
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = findTool(params.name, address)
    if (!tool) {
      const said = unknownToolWords(params.name, { ...sender, parts })
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, said)
    }
    return await orFail(exchange, callTool(tool, params.arguments, { ...sender, parts }))
  })
}

/** The stateless leg of the family of 2025, which always answers in JSON. */
async function answerLegacy(server: Server, request: Request, message: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(request.signal.reason)
  request.signal.addEventListener('abort', abort, { once: true })
  try {
    // An aborted request is never settled by the transport itself.
    return await Promise.race([transport.handleRequest(request, { parsedBody: message }), aborted])
  } finally {
    request.signal.removeEventListener('abort', abort)
    await server.close()
  }
}
