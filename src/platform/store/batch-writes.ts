import type { Writable } from 'node:stream'

/** Sends everything that is written in this turn of the event loop as one write. */
export function batchWritesOfThisTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  // After the sockets that are readable now were read.
  setImmediate(() => stream.uncork())
}
