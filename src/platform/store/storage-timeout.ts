import type { Writable } from 'node:stream'

/** The number of event-loop steps in the limit. */
const STEPS_PER_LIMIT = 10

interface Wait {
  readonly lastStep: number
  readonly giveUp: () => void
}

/**
 * Limits the wait for an answer of a store (`storage.answerWithinMs`). Excludes the time in which this process
 * could not read the answer, such as during a long computation: the limit is counted in steps of the event loop,
 * and a late step is one step. Answers that have arrived are read before a call times out.
 *
 * One timer serves all waiting calls, and none runs while nothing waits. Unless the loop is blocked, a call
 * times out after the limit, or up to a tenth later.
 */
export class StorageTimeout {
  readonly #waits = new Set<Wait>()
  readonly #answerWithinMs: number
  #step = 0
  #timer: NodeJS.Timeout | undefined

  constructor(answerWithinMs: number) {
    this.#answerWithinMs = answerWithinMs
  }

  /** Returns the step at which a new call times out. The first step may follow at once, so it does not count. */
  limit(): number {
    return this.#step + STEPS_PER_LIMIT + 1
  }

  /**
   * Calls `giveUp` unless `stop` comes first.
   *
   * @param until an earlier `limit()`, for a call with several parts; at least two steps remain
   */
  start(giveUp: () => void, until = this.limit()): Wait {
    const wait = { giveUp, lastStep: Math.max(until, this.#step + 3) }
    this.#waits.add(wait)
    this.#timer ??= setInterval(() => {
      this.#step += 1
      // Runs after the sockets were read.
      setImmediate(() => this.#endExpired())
    }, this.#answerWithinMs / STEPS_PER_LIMIT)
    return wait
  }

  stop(wait: Wait): void {
    this.#waits.delete(wait)
  }

  #endExpired(): void {
    for (const wait of this.#waits) {
      if (wait.lastStep > this.#step) continue
      this.#waits.delete(wait)
      wait.giveUp()
    }
    if (this.#waits.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** A call that timed out. The store may have executed it, or may do so later. */
export class AnsweredTooLate extends Error {
  override readonly name = 'AnsweredTooLate'
}

/** Sends everything that is written to a stream in this turn of the event loop as one write. */
export function batchWritesOfThisTurn(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  // Runs after the sockets that are readable now were read.
  setImmediate(() => stream.uncork())
}
