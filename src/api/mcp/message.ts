import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'

import type { Context } from 'koa'

import { faultBody } from '../../platform/http/error-handler.ts'
import { isRefusal, unsupportedBody } from '../../platform/http/errors.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { logFields } from '../../platform/http/request-log.ts'

/** The error code for an invalid request (JSON-RPC 2.0 §5.1). */
export const INVALID_REQUEST = -32_600
const INVALID_PARAMS = -32_602
const INTERNAL_ERROR = -32_603
const PARSE_ERROR = -32_700

/** The JSON-RPC message of a request: its text and its parsed value. */
export interface Message {
  readonly text: string
  readonly value: unknown
}

/** Reads a message, or sends an error and returns undefined. @throws unsupportedBody, bodyTooLarge */
export async function readMessage(ctx: Context, bodyBytesMax: number) {
  if (!ctx.is('application/json')) throw unsupportedBody('application/json')
  const text = decodeUtf8(await readRequestBody(ctx, bodyBytesMax))
  const message = text === undefined ? undefined : parseMessage(text)
  if (!message) return sendFault(ctx, 400, PARSE_ERROR, 'the body must be JSON in UTF-8')
  const problem = messageProblem(message.value)
  if (problem === undefined) return message
  return sendFault(ctx, 400, INVALID_REQUEST, problem)
}

/** The maximum nesting of a message, far more than tools need. JSON.stringify fails at a few thousand levels. */
const NESTING_MAX = 64

function messageProblem(value: unknown): string | undefined {
  // A batch, as in MCP 2025-03-26, would bypass the checks, which expect a single message (design 23).
  if (Array.isArray(value)) return 'batches are not supported; send one message per request'
  return nestsDeeperThan(value, NESTING_MAX)
    ? `the message must not be nested deeper than ${NESTING_MAX} levels`
    : undefined
}

function nestsDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => nestsDeeperThan(inner, levels - 1))
}

function parseMessage(text: string): Message | undefined {
  try {
    return { text, value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Sends a JSON-RPC error with a null id, for a message whose id was not read (JSON-RPC 2.0 §5). */
export function sendFault(ctx: Context, status: number, code: number, message: string): undefined {
  logFields(ctx).error = message
  ctx.status = status
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { jsonrpc: '2.0', error: { code, message }, id: null }
}

/** Logs an internal error and responds with its error id. @throws `failure` if it is a refusal */
export function sendFailure(ctx: Context, { value }: Message, failure: unknown): void {
  if (isRefusal(failure)) throw failure
  logFields(ctx).cause = failure
  ctx.app.emit('error', failure, ctx)
  sendRpcError(ctx, value, { code: INTERNAL_ERROR, message: faultBody(ctx).error_description })
}

/** Responds to a request with invalid parameters. */
export function sendInvalidParams(ctx: Context, { value }: Message, message: string): void {
  logFields(ctx).error = 'invalid parameters'
  sendRpcError(ctx, value, { code: INVALID_PARAMS, message })
}

function sendRpcError(
  ctx: Context,
  value: unknown,
  error: { code: number; message: string | undefined },
): void {
  const { id = null } = value as { id?: unknown }
  ctx.status = 200
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { jsonrpc: '2.0', error, id }
}

/** Headers that are not copied. They belong to the connection, or follow from the URL and the body. */
const dropped = new Set(['connection', 'content-length', 'host', 'keep-alive', 'transfer-encoding'])

/**
 * Converts a Koa request to a Fetch API `Request`, without its Authorization header and cookies. Downstream code does
 * not need the token, and must not pass it on (MCP, token passthrough). The request's signal aborts when the caller
 * disconnects, which cancels a call (since revision 2026-07-28).
 */
export function fetchRequest(ctx: Context, url: string, body: string): Request {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(ctx.req.headersDistinct)) {
    if (dropped.has(name) || name === 'authorization' || name === 'cookie') continue
    for (const value of values) headers.append(name, value)
  }
  // The SDK rejects a request that does not accept both types.
  headers.set('accept', 'application/json, text/event-stream')
  return new Request(url, { method: ctx.method, headers, body, signal: disconnectSignal(ctx) })
}

/** Sends a Fetch API `Response` to the caller. */
export async function sendResponse(ctx: Context, response: Response): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  for (const [name, value] of response.headers) ctx.set(name, value)
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  ctx.body = isStream
    ? Readable.fromWeb(response.body as ReadableStream)
    : (await response.text()) || null
  // Set the status last, because Koa sets it to 204 for a null body.
  ctx.status = response.status
}

export function sendText(ctx: Context, text: string): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.status = 200
  // Omit the charset, as the SDK does (RFC 8259 §11).
  ctx.set('Content-Type', 'application/json')
  ctx.body = text
}

function disconnectSignal({ res }: Context): AbortSignal {
  const aborter = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) aborter.abort()
  })
  return aborter.signal
}
