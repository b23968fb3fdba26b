import type { Context } from 'koa'

import { bodyTooLarge, unsupportedBody } from './errors.ts'

/**
 * The bytes of a request body, never more than a limit. It reads the stream itself, because what
 * parses the bytes has to see them as they came.
 *
 * @throws bodyTooLarge before more than the limit was kept
 * @throws unsupportedBody for a compressed body, whose real size nobody knows beforehand
 */
export async function readRequestBody(ctx: Context, bytesMax: number): Promise<Buffer> {
  const encoding = ctx.get('content-encoding')
  if (encoding !== '' && encoding !== 'identity') throw unsupportedBody('sent without compression')
  if (Number(ctx.get('content-length')) > bytesMax) throw bodyTooLarge(bytesMax)
  const chunks: Buffer[] = []
  let length = 0
  // Node reads and drops the rest after the answer; destroying the stream would lose the answer too.
  const stream: AsyncIterable<Buffer> = ctx.req.iterator({ destroyOnReturn: false })
  for await (const chunk of stream) {
    length += chunk.length
    if (length > bytesMax) throw bodyTooLarge(bytesMax)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The text of a body in UTF-8, or nothing when it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
