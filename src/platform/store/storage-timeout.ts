/** How many steps of a running event loop make the limit. */
const STEPS_PER_LIMIT = 10

interface Wait {
  readonly lastStep: number
  readonly giveUp: () => void
}

/**
 * Limits how long an answer of a store is waited for (`storage.answerWithinMs`). The limit does not count
 * the time in which this process could not read the answer: during a long computation, or on an overloaded
 * machine. So it is counted in steps of the event loop, and a step that comes late, however late, is
 * one step. Answers that have arrived are read before a call is given up.
 *
 * One timer serves all waiting calls, and none runs while nothing waits. While the loop is not blocked, a
 * call is given up after the limit, or up to a tenth later.
 */
export class StorageTimeout {
  readonly #waits = new Set<Wait>()
  readonly #answerWithinMs: number
  #step = 0
  #timer: NodeJS.Timeout | undefined

  constructor(answerWithinMs: number) {
    this.#answerWithinMs = answerWithinMs
  }

  /** The step at which a call that begins now is over. The first step may follow at once, so it does not count. */
  limit(): number {
    return this.#step + STEPS_PER_LIMIT + 1
  }

  /**
   * Calls `giveUp` unless `stop` comes first.
   *
   * @param until an earlier `limit()`, for a call that consists of several; at least two steps are left
   */
  start(giveUp: () => void, until = this.limit()): Wait {
    const wait = { giveUp, lastStep: Math.max(until, this.#step + 3) }
    this.#waits.add(wait)
    this.#timer ??= setInterval(() => {
      this.#step += 1
      // After the sockets were read.
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

/** A call that was given up. The store may have executed it, or may do so later. */
export class AnsweredTooLate extends Error {
  override readonly name = 'AnsweredTooLate'
}
