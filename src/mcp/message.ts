import type { Context } from 'koa'

import { faultBody } from '../http/error-handler.ts'
import { isRefusal, unsupportedBody } from '../http/errors.ts'
import { decodeUtf8, readRequestBody } from '../http/request-body.ts'
import { logFields } from '../http/request-log.ts'

/** JSON-RPC 2.0 §5.1. */
export const INVALID_REQUEST = -32_600
const INTERNAL_ERROR = -32_603
const PARSE_ERROR = -32_700

/** A message that is refused before anything acts on it. */
export interface MessageFault {
  readonly status: number
  readonly code: number
  readonly message: string
}

export interface Message {
  readonly text: string
  readonly value: unknown
}

/** Answers with a JSON-RPC error; the id of the message is not known where one is refused. */
export function sendFault(ctx: Context, { status, code, message }: MessageFault): void {
  logFields(ctx).error = message
  ctx.status = status
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { jsonrpc: '2.0', error: { code, message }, id: null }
}

/**
 * Reads the one JSON-RPC message that the body of a request is.
 *
 * @throws unsupportedBody and bodyTooLarge before anything was parsed
 */
export async function readMessage(
  ctx: Context,
  bodyBytesMax: number,
): Promise<Message | MessageFault> {
  if (!ctx.is('application/json')) throw unsupportedBody('application/json')
  const text = decodeUtf8(await readRequestBody(ctx, bodyBytesMax))
  const message = text === undefined ? undefined : parseMessage(text)
  if (!message) return { status: 400, code: PARSE_ERROR, message: 'the body is not JSON in UTF-8' }
  // A batch of 2025-03-26 would carry calls past every check of the one message (design 23).
  if (Array.isArray(message.value)) return batch
  return message
}

export function isFault(read: Message | MessageFault): read is MessageFault {
  return 'status' in read
}

const batch: MessageFault = {
  status: 400,
  code: INVALID_REQUEST,
  message: 'batches are not supported: send one message a request',
}

function parseMessage(text: string): Message | undefined {
  try {
    return { text, value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/**
 * A tool that could not do its work. Storage out of reach leaves by the error door as 503, which says
 * nothing about the token (specification, Errors 7); a fault is told with its id and nothing else.
 */
export function sendFailure(ctx: Context, message: unknown, failure: unknown): void {
  if (isRefusal(failure)) throw failure
  logFields(ctx).cause = failure
  ctx.app.emit('error', failure, ctx)
  const { id = null } = message as { id?: unknown }
  ctx.status = 200
  ctx.set('Cache-Control', 'no-store')
  ctx.body = {
    jsonrpc: '2.0',
    error: { code: INTERNAL_ERROR, message: faultBody(ctx).error_description },
    id,
  }
}
