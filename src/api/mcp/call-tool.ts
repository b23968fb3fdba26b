import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'

import { type Tool, type ToolCall, ToolProblem } from './tool.ts'
import { accessTo, isOpenTo } from './tool-access.ts'
import { findTool } from './tool-catalogue.ts'

/** The context of a request that the SDK handles, and the internal error of its handler, if any. */
export interface Exchange {
  readonly call: ToolCall
  /** The internal error of a handler, for the endpoint to report. */
  failure?: unknown
}

/** Returns the result of `work`. Stores an internal error in `exchange`, and throws a ProtocolError without details. */
export async function orFail<Result>(
  exchange: Exchange,
  work: Promise<Result>,
): Promise<NonNullable<Result>> {
  const result = await work.catch((error: unknown) => {
    if (error instanceof ProtocolError) throw error
    exchange.failure = error
  })
  if (!result) throw new ProtocolError(ProtocolErrorCode.InternalError, 'the tool failed')
  return result
}

/** Creates the error for an invalid parameter (JSON-RPC 2.0 §5.1). */
export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

/** The maximum number of characters of a result: about 25,000 tokens, the lowest limit among known hosts. */
export const ANSWER_LENGTH_MAX = 80_000

/** Runs a tool. A `ToolProblem` becomes a result with `isError` (MCP, tools) or a request to open its approval page. */
export async function callTool(
  tool: Tool,
  values: unknown,
  call: ToolCall,
): Promise<CallToolResult | InputRequiredResult> {
  if (call.remedy !== undefined) return problemResult(call.remedy, call)
  // The endpoint has already checked access. Check again, in case a message bypasses that check.
  if (!isOpenTo(accessTo(tool, values), call.caller)) {
    throw new Error('a tool was called without access to it')
  }
  try {
    const answer = await answerWithin(tool, values, call)
    // By default, send text only. Every host shows text to its model; not all show structured content (decision 15).
    const isStructured = call.parts.structuredResults && typeof answer === 'object'
    return {
      content: [{ type: 'text', text: resultText(answer) }],
      ...(isStructured && { structuredContent: answer as Record<string, unknown> }),
    }
  } catch (error) {
    if (!(error instanceof ToolProblem)) throw error
    const { message, approvalAddress: url } = error
    if (url !== undefined && call.opensPages) {
      const approval = inputRequired.elicitUrl({ message, url })
      return inputRequired({ inputRequests: { approval } })
    }
    return problemResult(`${message} ${listToolHint(error, call)}`.trim(), call)
  }
}

function resultText(answer: object | string): string {
  return typeof answer === 'string' ? answer : JSON.stringify(answer)
}

/** Runs a tool. Shortens a result that is too long and adds a note. @throws ToolProblem if no shorter result fits */
async function answerWithin(tool: Tool, values: unknown, call: ToolCall): Promise<object | string> {
  const answer = await tool.run(values, call)
  const length = resultText(answer).length
  if (length <= ANSWER_LENGTH_MAX) return answer
  const lists = Object.entries(answer).filter((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  )
  const lengthOf = (list: unknown) => JSON.stringify(list).length
  const [name, list] =
    lists.toSorted(([, one], [, other]) => lengthOf(other) - lengthOf(one))[0] ?? []
  const count =
    list && fittingCount(list, ANSWER_LENGTH_MAX - NOTE_LENGTH - (length - lengthOf(list)))
  if (!name || !list || !count) throw new ToolProblem(TOO_LONG)
  if (name !== 'nodes') {
    const note = `Only the first ${count} of ${list.length} ${name} fit into the result.`
    return { ...Object(answer), [name]: list.slice(0, count), note }
  }
  const page = await answerWithin(tool, { ...Object(values), first: count }, call)
  const note = `Only the first ${count} objects fit into the result. For the next page, call again with the pageInfo.endCursor as "after".`
  return { ...Object(page), note }
}

/** The number of characters reserved for a note. */
const NOTE_LENGTH = 200

/** Returns how many elements of a list fit into a number of characters. */
function fittingCount(list: readonly unknown[], lengthMax: number): number {
  let length = 2
  const excess = list.findIndex((element) => {
    length += JSON.stringify(element).length + 1
    return length > lengthMax
  })
  return excess === -1 ? list.length : excess
}

function problemResult(text: string, { onProblem }: ToolCall): CallToolResult {
  onProblem()
  return { content: [{ type: 'text', text }], isError: true }
}

/** Names the tool that lists valid values, if the caller may use it here. */
function listToolHint({ listedBy }: ToolProblem, { caller, address }: ToolCall): string {
  const tool = findTool(listedBy, address)
  return tool && isOpenTo(tool.access, caller) ? `Call ${tool.name} to list valid values.` : ''
}

const TOO_LONG = `The result has more than ${ANSWER_LENGTH_MAX} characters. Request fewer objects, for example with \`first\`.`
