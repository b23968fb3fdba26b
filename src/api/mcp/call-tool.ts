import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

import { type Tool, type ToolCall, ToolProblem } from './tool.ts'
import { accessTo, isOpen } from './tool-access.ts'
import { findTool } from './tool-catalogue.ts'

/** The state of one request inside the SDK, with any failure. */
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

/** Maximum number of characters of a result. */
export const ANSWER_LENGTH_MAX = 1_000_000

/** Runs a tool. A mistake by the caller, or too long a result, becomes a result marked as an error (MCP, tools). */
export async function callTool(
  tool: Tool,
  values: unknown,
  call: ToolCall,
): Promise<CallToolResult> {
  // The endpoint has already checked access. Check again, in case a message bypasses that check.
  if (!isOpen(accessTo(tool, values), call.caller)) {
    throw new Error('a tool was called without access')
  }
  try {
    const answer = await tool.run(values, call)
    // Send text only. Every host shows text to its model; not all show structured content (decision 15).
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    if (text.length > ANSWER_LENGTH_MAX) throw new ToolProblem(TOO_LONG)
    return { content: [{ type: 'text', text }] }
  } catch (error) {
    if (!(error instanceof ToolProblem)) throw error
    call.onProblem()
    const text = `${error.message} ${hintOf(error, call)}`.trim()
    return { content: [{ type: 'text', text }], isError: true }
  }
}

/** Names the tool that lists valid values, if the caller may use it at this endpoint. */
function hintOf({ listedBy }: ToolProblem, { caller, address }: ToolCall): string {
  const tool = findTool(listedBy, address)
  return tool && isOpen(tool.access, caller) ? `Call ${tool.name} to list valid values.` : ''
}

const TOO_LONG = `The result has more than ${ANSWER_LENGTH_MAX} characters. Request fewer objects, for example with \`first\`.`
