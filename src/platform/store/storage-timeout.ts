import type { Writable } from 'node:stream'

const STEPS_PER_LIMIT = 10

/** The factor by which the limit grows while a store responds to other calls. Such a store is busy, not unavailable. */
export const BUSY_LIMITS_MAX = 8

interface Wait {
  readonly lastStep: number
  readonly giveUp: () => void
}

/**
 * Limits how long to wait for a store (`storage.answerWithinMs`). The limit is measured in steps of a timer, which all
 * calls share. A late step counts as one step, so time spent in blocking code does not count. While the store
 * responds to other calls, it is overloaded but works, so the limit is multiplied by `BUSY_LIMITS_MAX`.
 */
export class StorageTimeout {
  readonly #waits = new Set<Wait>()
  readonly #answerWithinMs: number
  #step = 0
  #timer: NodeJS.Timeout | undefined
  #respondedAt = Number.NEGATIVE_INFINITY

  constructor(answerWithinMs: number) {
    this.#answerWithinMs = answerWithinMs
  }

  /** Returns the step at which a new call times out. The first step may follow immediately, so it does not count. */
  limit(): number {
    return this.#step + STEPS_PER_LIMIT + 1
  }

  /** Calls `giveUp` at `until` (later if the store is busy), unless `stop` is called. Parts of a call share `until`. */
  start(giveUp: () => void, until = this.limit()): Wait {
    const wait = { giveUp, lastStep: Math.max(until, this.#step + 3) }
    this.#waits.add(wait)
    this.#timer ??= setInterval(() => {
      this.#step += 1
      // Continue after the sockets have been read.
      setImmediate(() => this.#endExpired())
    }, this.#answerWithinMs / STEPS_PER_LIMIT)
    return wait
  }

  /** Stops waiting for a call. @param responded whether the store responded, even with an error */
  stop(wait: Wait, responded: boolean): void {
    this.#waits.delete(wait)
    if (responded) this.#respondedAt = this.#step
  }

  #endExpired(): void {
    const isBusy = this.#step <= this.#respondedAt + STEPS_PER_LIMIT
    const extraSteps = isBusy ? (BUSY_LIMITS_MAX - 1) * STEPS_PER_LIMIT : 0
    for (const wait of this.#waits) {
      if (wait.lastStep + extraSteps > this.#step) continue
      this.#waits.delete(wait)
      wait.giveUp()
    }
    if (this.#waits.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** The error of a call that timed out. The store may have executed the call, or may still execute it. */
export class StorageTimeoutError extends Error {
  override readonly name = 'StorageTimeoutError'
}

/** Combines everything written to a stream in this event loop turn into one write. */
export function batchWritesOfThisTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  // Write after all currently readable sockets have been read.
  setImmediate(() => stream.uncork())
}
