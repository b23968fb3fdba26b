import type { IncomingHttpHeaders } from 'node:http'

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  classifyInboundRequest,
} from '@modelcontextprotocol/server'

import { callTool } from './call-tool.ts'
import {
  protocolVersions,
  serverInfoOf,
  type Tool,
  type ToolAddress,
  type ToolCall,
  type ToolParts,
} from './tool.ts'
import { cacheHintsFor, findTool, listedTools } from './tool-catalogue.ts'

/** A tools/list or tools/call request in its usual format, which needs no SDK. */
export interface PlainRequest {
  readonly era: Era
  readonly id: string | number
  /** The called tool; undefined for tools/list. */
  readonly called?: { readonly tool: Tool; readonly values: unknown }
}

type Era = 'modern' | 'legacy'

/**
 * Recognizes tools/list and tools/call, which make up nearly all traffic, in their usual format. Returns undefined for
 * other messages. The SDK creates a request, a response, a server and a transport for each message, and validates the
 * message several times. That costs more than running most tools. `test/mcp-plain-requests.test.ts` checks that this
 * module and the SDK send the same bytes.
 */
export function readPlainRequest(
  headers: IncomingHttpHeaders,
  body: unknown,
  address: ToolAddress,
): PlainRequest | undefined {
  const version = headers['mcp-protocol-version']?.toString()
  const method = headers['mcp-method']?.toString()
  const name = headers['mcp-name']?.toString()
  const era = eraOf({
    httpMethod: 'POST',
    body,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(method !== undefined && { mcpMethodHeader: method }),
    ...(name !== undefined && { mcpNameHeader: name }),
  })
  const asked = era && readAsked(body, address)
  if (!asked || !Object.keys(asked.meta).every((key) => knownMeta[era].has(key))) return undefined
  const { id, called } = asked
  // Let the SDK handle calls whose results may ask the host to open a page.
  if (called && called.tool.effect !== 'reads' && canOpenPages(asked.meta)) return undefined
  const isNamed = era === 'legacy' || !called || called.tool.name === name
  return isNamed ? { era, id, ...(called && { called }) } : undefined
}

/** Whether the host can open a page for the person and then repeat the call. */
export function canOpenPages(meta: Readonly<Record<string, unknown>>): boolean {
  const capabilities = meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return capabilities?.elicitation?.url !== undefined
}

/** Returns the protocol generation of a request; undefined if it is unclear, for example if the revision is unknown. */
function eraOf(request: Parameters<typeof classifyInboundRequest>[0]): Era | undefined {
  const { protocolVersionHeader: version, mcpMethodHeader: method } = request
  const outcome = classifyInboundRequest(request)
  if (outcome.kind === 'modern') {
    return version === MODERN && method !== undefined ? 'modern' : undefined
  }
  const isAsked = outcome.kind === 'legacy' && outcome.reason === 'no-claim'
  return isAsked && (version === undefined || LEGACY.has(version)) ? 'legacy' : undefined
}

const [MODERN, ...older] = protocolVersions
const LEGACY: ReadonlySet<string> = new Set(older)

const knownMeta: Readonly<Record<Era, ReadonlySet<string>>> = {
  modern: new Set([
    'io.modelcontextprotocol/protocolVersion',
    'io.modelcontextprotocol/clientCapabilities',
    'io.modelcontextprotocol/clientInfo',
    'progressToken',
  ]),
  legacy: new Set(['progressToken']),
}

function readAsked(body: unknown, address: ToolAddress) {
  if (!isRecord(body) || !hasOnly(body, ['jsonrpc', 'id', 'method', 'params'])) return undefined
  const { id, method, params = {} } = body
  if (!isToken(id) || !isRecord(params)) return undefined
  const { _meta: meta = {}, name, arguments: values, ...rest } = params
  if (!isRecord(meta) || ('progressToken' in meta && !isToken(meta['progressToken']))) {
    return undefined
  }
  if (!hasOnly(rest, [])) return undefined
  if (method === 'tools/list') return hasOnly(params, ['_meta']) ? { id, meta } : undefined
  const tool = method === 'tools/call' ? findTool(name, address) : undefined
  if (!tool || (values !== undefined && !isRecord(values))) return undefined
  return { id, meta, called: { tool, values } }
}

function isToken(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hasOnly(value: object, names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name))
}

/** Creates the function that runs plain requests and renders the responses as JSON. It throws like `callTool`. */
export function makePlainAnswers(parts: ToolParts) {
  const meta = JSON.stringify({ 'io.modelcontextprotocol/serverInfo': serverInfoOf(parts) })
  const modernEnd = `,"_meta":${meta}`
  const callEnd = `,"resultType":"complete"${modernEnd}`
  return async ({ era, id, called }: PlainRequest, call: ToolCall): Promise<string> => {
    const end = `,"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
    if (!called) {
      const { ttlMs, cacheScope } = cacheHintsFor(call)
      const hints = `,"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"${cacheScope}"${modernEnd}`
      const tools = listedTools(call).text
      return `{"result":{"tools":${tools}${era === 'modern' ? hints : ''}}${end}`
    }
    const result = await callTool(called.tool, called.values, call)
    const open = JSON.stringify(result).slice(0, -1)
    return `{"result":${open}${era === 'modern' ? callEnd : ''}}${end}`
  }
}
