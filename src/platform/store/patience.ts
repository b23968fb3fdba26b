/** How many steps of a running event loop make the limit. */
const STEPS_PER_LIMIT = 10

/** Something that is waited for. */
interface Wait {
  readonly lastStep: number
  readonly giveUp: () => void
}

/** The limit of waiting for one store, in time during which this process could listen to it. */
export interface Patience {
  /** When something that begins now will have been waited for long enough. */
  limit(): number
  /**
   * Calls `giveUp` unless `stop` comes first. `until` is a `limit()` of before; whatever
   * is left of it, two steps are given.
   */
  wait(giveUp: () => void, until?: number): Wait
  stop(wait: Wait): void
}

/**
 * A store is given up when it did not answer in time, and not when this process was kept from
 * listening: by a long computation, or by a machine that has much else to do. So the limit is
 * counted in steps of the event loop, and a step that comes late, however late, is one step. What
 * has arrived meanwhile is read before anything is given up.
 *
 * One timer serves everything that is waited for, and none runs while nothing is.
 *
 * @param limitMs after so long, or up to a tenth longer, waiting ends while the loop is not held up
 */
export function makePatience(limitMs: number): Patience {
  const waits = new Set<Wait>()
  let step = 0
  let timer: NodeJS.Timeout | undefined

  const endThoseOver = () => {
    for (const wait of waits) {
      if (wait.lastStep > step) continue
      waits.delete(wait)
      wait.giveUp()
    }
    if (waits.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  // The first step may follow at once, so that it does not count.
  const limit = () => step + STEPS_PER_LIMIT + 1
  return {
    limit,
    wait(giveUp, until = limit()) {
      const wait = { giveUp, lastStep: Math.max(until, step + 3) }
      waits.add(wait)
      timer ??= setInterval(() => {
        step += 1
        // After the sockets were read.
        setImmediate(endThoseOver)
      }, limitMs / STEPS_PER_LIMIT)
      return wait
    },
    stop: (wait) => void waits.delete(wait),
  }
}

/** A store that was given up; what it was asked for may have been done, or be done yet. */
export class AnsweredTooLate extends Error {
  override readonly name = 'AnsweredTooLate'
}
