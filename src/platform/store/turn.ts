import type { Writable } from 'node:stream'

/** Keeps what is written until the sockets that are readable now were read, and writes it as one. */
export function holdForThisTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
