import type { IncomingMessage } from 'node:http'

import type { Context } from 'koa'

import { bodyTooLarge } from './errors.ts'

/**
 * The bytes of a request body, never more than a limit. It reads the stream itself, because what
 * parses the bytes has to see them as they came; a packed one was refused before (plain-request.ts).
 *
 * @throws bodyTooLarge before more than the limit was kept
 */
export async function readRequestBody(ctx: Context, bytesMax: number): Promise<Buffer> {
  if (Number(ctx.get('content-length')) > bytesMax) throw bodyTooLarge(bytesMax)
  return await readBytes(ctx.req, bytesMax)
}

// By events, which cost less than an iterator over the stream.
async function readBytes(stream: IncomingMessage, bytesMax: number): Promise<Buffer> {
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
  // Nothing more is told of a stream that has ended in this way already.
  stream.once('close', left)
  if (stream.destroyed) left()
  return await promise
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a body in UTF-8, or nothing when it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
