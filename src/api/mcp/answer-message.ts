import { type SpecTypeName, specTypeSchemas } from '@modelcontextprotocol/server'
import type { Context } from 'koa'

import { callerOf, logFields } from '../../platform/http/request-log.ts'
import type { Exchange } from './call-tool.ts'
import {
  fetchRequest,
  type Message,
  sendFailure,
  sendInvalidParams,
  sendResponse,
  sendText,
} from './message.ts'
import { makePlainAnswers, readPlainRequest } from './plain-requests.ts'
import { findPrompt } from './prompts.ts'
import { findResource } from './resources.ts'
import { makeToolServer } from './server.ts'
import type { ToolAccess, ToolAddress, ToolCall, ToolParts } from './tool.ts'
import { accessTo, audienceOf, isServedAt } from './tool-access.ts'
import { findTool } from './tool-catalogue.ts'

/** The caller and endpoint of a message, and the advice to return if the client cannot request the tool's scopes. */
export type Sender = Pick<ToolCall, 'caller' | 'address' | 'remedy'>

/** Creates the function that answers messages. Plain requests, and those with invalid parameters, bypass the SDK. */
export function makeAnswerMessage(parts: ToolParts) {
  const answerPlain = makePlainAnswers(parts)
  const tools = makeToolServer()
  return async (ctx: Context, message: Message, sender: Sender): Promise<void> => {
    const onProblem = () => {
      logFields(ctx).outcome = 'problem'
    }
    const { address } = sender
    const call = { ...sender, request: callerOf(ctx), onProblem, parts }
    const plain = readPlainRequest(ctx.req.headers, message.value, address)
    if (plain) {
      try {
        return sendText(ctx, await answerPlain(plain, call))
      } catch (failure) {
        return sendFailure(ctx, message, failure)
      }
    }
    const problem = problemOfParams(message.value)
    if (problem !== undefined) return sendInvalidParams(ctx, message, problem)
    const exchange: Exchange = { call }
    const request = fetchRequest(ctx, parts.service.baseUrl + address.path, message.text)
    const response = await tools.answer(request, message.value, exchange).catch((error) => {
      // Aborted means that the caller has disconnected.
      if (request.signal.aborted) return undefined
      throw error
    })
    if (exchange.failure !== undefined) return sendFailure(ctx, message, exchange.failure)
    if (response) await sendResponse(ctx, response)
  }
}

/** The tool, prompt or resource that a message uses, and its access condition. */
export interface Use {
  readonly name: string
  readonly access: ToolAccess
  readonly isTool?: boolean
  /** Whether the use changes data of a site. Changes are audited and limited. */
  readonly changesSite?: boolean
}

/** Finds the tool, prompt or resource that a message uses, if the endpoint offers it, for the access check. */
export function accessOf(message: unknown, address: ToolAddress): Use | undefined {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: Params | null }
  const use = usedBy(method, params ?? {}, address)
  return use && isServedAt(address, use) ? use : undefined
}

interface Params {
  readonly name?: unknown
  readonly arguments?: unknown
  readonly uri?: unknown
}

function usedBy(method: unknown, params: Params, address: ToolAddress): Use | undefined {
  switch (method) {
    case 'tools/call': {
      const tool = findTool(params.name, address)
      if (!tool) return undefined
      const changesSite = tool.effect !== 'reads' && audienceOf(tool) === 'operator'
      const access = accessTo(tool, params.arguments)
      return { name: tool.name, access, isTool: true, changesSite }
    }
    case 'prompts/get':
      return findPrompt(params.name)
    case 'resources/read':
      return findResource(params.uri)?.kind
    default:
      return undefined
  }
}

/** The schemas of the methods whose parameters are validated here. The SDK itself validates `initialize`. */
const schemas = new Map<unknown, SpecTypeName>([
  ['completion/complete', 'CompleteRequest'],
  ['prompts/get', 'GetPromptRequest'],
  ['prompts/list', 'ListPromptsRequest'],
  ['resources/list', 'ListResourcesRequest'],
  ['resources/read', 'ReadResourceRequest'],
  ['resources/templates/list', 'ListResourceTemplatesRequest'],
  ['tools/call', 'CallToolRequest'],
  ['tools/list', 'ListToolsRequest'],
])

const PROBLEMS_SHOWN_MAX = 5

/** Describes the invalid parameters of a request, if any. The SDK would report most of them as internal errors. */
function problemOfParams(value: unknown): string | undefined {
  const { id, method, params } = (value ?? {}) as Readonly<Record<string, unknown>>
  // Notifications get no response, and the SDK rejects other messages without a valid id.
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  const type = schemas.get(method)
  if (type === undefined) return undefined
  const result = specTypeSchemas[type]['~standard'].validate({ method, params })
  if (result instanceof Promise || result.issues === undefined) return undefined
  const problems = result.issues.slice(0, PROBLEMS_SHOWN_MAX).map(({ path = [], message }) => {
    return `${path.map(nameOf).join('.')}: ${message.replace(/^Invalid input: /, '')}`
  })
  return `The parameters of ${method} are invalid. ${problems.join('; ')}.`
}

function nameOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment).slice(0, 100)
}
