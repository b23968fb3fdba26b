import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

import { type Tool, type ToolCall, ToolProblem } from './tool.ts'
import { accessTo, isOpen } from './tool-access.ts'

/** One request on its way through the SDK, and what went wrong inside. */
export interface Exchange {
  readonly call: ToolCall
  /** An error of a tool that is not for the caller's eyes; the route answers it. */
  failure?: unknown
}

/** The result of the work; when it fails, the route says why, and the SDK must not. */
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

/** The largest answer of one call, as text. */
export const ANSWER_LENGTH_MAX = 1_000_000

/**
 * Runs a tool. What the caller can mend is an answer marked as an error, which a model reads and acts
 * upon (MCP, tools: error handling); refusals and faults are thrown to the route.
 */
export async function callTool(
  tool: Tool,
  values: unknown,
  call: ToolCall,
): Promise<CallToolResult> {
  // The front door has asked already. Asked again here, no way around it opens a tool.
  if (!isOpen(accessTo(tool, values), call.caller)) throw new Error('a closed tool was reached')
  try {
    const answer = await tool.run(values, call)
    // Once, and as text: it is what every host shows its model, whatever it does with the rest (decision 15).
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    if (text.length > ANSWER_LENGTH_MAX) throw new ToolProblem(TOO_LONG)
    return { content: [{ type: 'text', text }] }
  } catch (error) {
    if (!(error instanceof ToolProblem)) throw error
    call.hearProblem()
    return { content: [{ type: 'text', text: error.message }], isError: true }
  }
}

const TOO_LONG = `The answer has more than ${ANSWER_LENGTH_MAX} characters. Ask for fewer with \`first\`.`
