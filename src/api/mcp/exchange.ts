import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

import type { ToolCall } from './tool.ts'

/** Who sent a message, in which request, and to which address. */
export type Sender = Omit<ToolCall, 'parts'>

/** One request on its way through the SDK: who sent it, and what went wrong inside. */
export interface Exchange {
  readonly sender: Sender
  /** An error of a tool that is not for the caller's eyes; the route answers it. */
  failure?: unknown
}

/** What the work makes; when it fails, the front door tells why, and the SDK must not. */
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
