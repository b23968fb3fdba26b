import type { IncomingMessage } from 'node:http'

import type { Context, Middleware } from 'koa'

import { bodyTooLarge, unsupportedBody } from './errors.ts'

/**
 * Reads the bytes of a request body up to a limit. Reads the stream directly, because parsers have to see the
 * bytes as they came; a packed body was refused before (request-target.ts).
 *
 * @throws bodyTooLarge before more than the limit was kept
 */
export async function readRequestBody(ctx: Context, bytesMax: number): Promise<Buffer> {
  if (Number(ctx.get('content-length')) > bytesMax) throw bodyTooLarge(bytesMax)
  const stream = ctx.req
  // Events cost less than an iterator over the stream.
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  const add = (chunk: Buffer) => {
    length += chunk.length
    if (length <= bytesMax) return void chunks.push(chunk)
    // The rest is read and dropped; destroying the stream would lose the answer too.
    stream.off('data', add).resume()
    reject(bodyTooLarge(bytesMax))
  }
  const left = () => reject(new Error('the caller left before the body was complete'))
  stream.on('data', add)
  stream.once('end', () => {
    stream.off('close', left)
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
  })
  stream.once('error', reject)
  stream.once('close', left)
  // A stream that is already destroyed emits nothing more.
  if (stream.destroyed) left()
  return await promise
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a body, or undefined if it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Refuses a packed body, whose real size is not known beforehand.
 *
 * @throws unsupportedBody, with `Accept-Encoding: identity` (RFC 9110 §12.5.3)
 */
export function refusePacked(ctx: Context): void {
  const encoding = ctx.get('content-encoding')
  if (encoding === '' || encoding.trim().toLowerCase() === 'identity') return
  ctx.set('Accept-Encoding', 'identity')
  throw unsupportedBody('sent without compression')
}

const FORM = 'application/x-www-form-urlencoded'
/** As much as the engine reads at its own endpoints. */
const FORM_BYTES_MAX = 56 * 1024

/**
 * The parameters of a form that a program posted; none without a body.
 *
 * @throws bodyTooLarge or unsupportedBody
 */
export async function readForm(ctx: Context): Promise<URLSearchParams> {
  refusePacked(ctx)
  if (ctx.get('content-type') === '') return new URLSearchParams()
  if (ctx.request.type.toLowerCase() !== FORM) throw unsupportedBody(FORM)
  // The URL standard defines this format in UTF-8 only, whatever charset the header names.
  return new URLSearchParams((await readRequestBody(ctx, FORM_BYTES_MAX)).toString())
}

/** One parameter; an empty one counts as absent (RFC 6749 §3.2). */
export function parameterOf(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.get(name) || undefined
}

/** What is wrong with a request that has one of these parameters twice (RFC 6749 §3.2). */
export function repetitionIn(
  parameters: URLSearchParams,
  names: readonly string[],
): string | undefined {
  const repeated = names.find((name) => parameters.getAll(name).length > 1)
  return repeated && `'${repeated}' parameter must not be provided twice`
}

/** How long, and how many bytes, the rest of a body is dropped before the answer goes out. */
const DROP_MS = 200
const DROP_BYTES_MAX = 1_048_576

/**
 * Answers a request whose body was not read to its end. A parser that stopped at its limit leaves the
 * connection stuck: what is sent on it next is never read. So the rest is dropped for a moment, or a client
 * that still sends would lose the answer with the connection. If there is more, or the body was too large, the
 * answer says that the connection ends (RFC 9112 §9.6).
 */
export function endUnreadBody(): Middleware {
  return async (ctx, next) => {
    await next()
    // A route that streams its answer reads the body at the same time.
    if (ctx.headerSent || ctx.respond === false) return
    const read = ctx.req.complete || (await dropRest(ctx.req))
    if (!read || ctx.status === 413) ctx.set('Connection', 'close')
  }
}

/** @returns whether the body ended in time */
async function dropRest(stream: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > DROP_BYTES_MAX) resolve(false)
  }
  const end = () => resolve(true)
  const left = () => resolve(false)
  const timer = setTimeout(left, DROP_MS)
  stream.on('data', count).once('end', end).once('close', left).resume()
  if (stream.destroyed) left()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    stream.off('data', count).off('end', end).off('close', left)
  }
}
