import type { IncomingMessage } from 'node:http'

import type { Middleware } from 'koa'

/** So long, and so many bytes, what still comes of a body is taken and dropped before its answer goes out. */
const DROP_MS = 200
const DROP_BYTES_MAX = 1_048_576

/**
 * Answers a request of which nobody has read the whole body. A parser that stopped at its limit leaves the
 * connection standing still: what is sent on it next is never read. So the rest is dropped for a moment,
 * without which a client that is still sending would lose the answer with the connection; and where there
 * is more of it, or the body was too large, the answer says that the connection ends (RFC 9112 §9.6).
 */
export function endUnreadBody(): Middleware {
  return async (ctx, next) => {
    await next()
    // What a route streams by itself reads the body while it answers.
    if (ctx.headerSent || ctx.respond === false) return
    const read = ctx.req.complete || (await drop(ctx.req))
    if (!read || ctx.status === 413) ctx.set('Connection', 'close')
  }
}

/** @returns whether the body ended in time */
async function drop(stream: IncomingMessage): Promise<boolean> {
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
