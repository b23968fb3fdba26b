import type { IncomingMessage } from 'node:http'

import type { Context, Middleware } from 'koa'

import { bodyTooLarge, notAForm, unsupportedBody } from './errors.ts'

/**
 * Reads the bytes of a request body, up to a limit. Callers must reject compressed bodies first (`refuseCompressed`).
 *
 * @throws bodyTooLarge without buffering more than the limit; an error if the caller disconnects
 */
export async function readRequestBody(ctx: Context, bytesMax: number): Promise<Buffer> {
  if (Number(ctx.get('content-length')) > bytesMax) throw bodyTooLarge(bytesMax)
  const stream = ctx.req
  // Use events, because they are faster than an async iterator.
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  const add = (chunk: Buffer) => {
    length += chunk.length
    if (length <= bytesMax) return void chunks.push(chunk)
    // Discard the rest, because destroying the stream would also lose the response.
    stream.off('data', add).resume()
    reject(bodyTooLarge(bytesMax))
  }
  const left = () => reject(new Error('the caller disconnected before the body was complete'))
  stream.on('data', add)
  stream.once('end', () => {
    stream.off('close', left)
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
  })
  stream.once('error', reject)
  stream.once('close', left)
  // A destroyed stream emits no further events.
  if (stream.destroyed) left()
  return await promise
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes a body; undefined if it is not valid UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** Rejects a compressed body, and sets `Accept-Encoding: identity` (RFC 9110 §12.5.3). @throws unsupportedBody */
export function refuseCompressed(ctx: Context): void {
  const encoding = ctx.get('content-encoding')
  if (encoding === '' || encoding.trim().toLowerCase() === 'identity') return
  ctx.set('Accept-Encoding', 'identity')
  throw unsupportedBody('sent without compression')
}

const FORM = 'application/x-www-form-urlencoded'
/** The maximum length of a form, the same as at the engine's own endpoints. */
const FORM_BYTES_MAX = 56 * 1024

/** Reads the parameters of a form; empty without a Content-Type. @throws bodyTooLarge, notAForm or unsupportedBody */
export async function readForm(ctx: Context): Promise<URLSearchParams> {
  refuseCompressed(ctx)
  if (ctx.get('content-type') === '') return new URLSearchParams()
  if (ctx.request.type.toLowerCase() !== FORM) throw notAForm()
  // The URL standard defines this format only in UTF-8, so ignore the charset in the header.
  return new URLSearchParams((await readRequestBody(ctx, FORM_BYTES_MAX)).toString())
}

/** Returns a parameter; undefined if it is absent or empty (RFC 6749 §3.2). */
export function parameterOf(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.get(name) || undefined
}

/** Returns an error description if a request repeats one of these parameters (RFC 6749 §3.2). */
export function repetitionIn(
  parameters: URLSearchParams,
  names: readonly string[],
): string | undefined {
  const repeated = names.find((name) => parameters.getAll(name).length > 1)
  return repeated && `'${repeated}' parameter must not be provided twice`
}

/** The limits for reading the rest of a body before the response is sent. */
const DROP_MS = 200
const DROP_BYTES_MAX = 1_048_576

/**
 * Discards the unread rest of a request body before the response is sent. Otherwise, the connection would hang after a
 * parser stopped at its limit. Closing it at once could lose the response, because the client may still be sending. If
 * the rest exceeds a limit, or the body was rejected as too large, the response closes the connection (RFC 9112 §9.6).
 */
export function endUnreadBody(): Middleware {
  return async (ctx, next) => {
    await next()
    // A route that streams its response may still be reading the body.
    if (ctx.headerSent || ctx.respond === false) return
    const read = ctx.req.complete || (await dropRest(ctx.req))
    if (!read || ctx.status === 413) ctx.set('Connection', 'close')
  }
}

/** Reads the rest of a body. @returns whether the body ended within the limits */
export async function dropRest(
  stream: IncomingMessage,
  { bytesMax = DROP_BYTES_MAX, ms = DROP_MS } = {},
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > bytesMax) resolve(false)
  }
  const end = () => resolve(true)
  const left = () => resolve(false)
  const timer = setTimeout(left, ms)
  stream.on('data', count).once('end', end).once('close', left).resume()
  if (stream.destroyed) left()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    stream.off('data', count).off('end', end).off('close', left)
  }
}
