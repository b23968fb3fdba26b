import { join } from 'node:path'

import { freePort, startProgram } from '../support/programs.ts'
import { get } from '../support/wire.ts'

const ANSWER_WITHIN_MS = 500

/** The interval of the timer below. */
const TICK_MS = 5

/**
 * Sums the time in which this process could not run. Request times exclude it, because a response that waits in the
 * socket is not late.
 */
export class HeldUp {
  #sumMs = 0
  #lastMs = performance.now()
  readonly #timer: NodeJS.Timeout

  constructor() {
    // Timers run before sockets, so the sum is current when a response is read.
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  get sumMs(): number {
    return this.#sumMs
  }

  #tick(): void {
    const nowMs = performance.now()
    this.#sumMs += Math.max(0, nowMs - this.#lastMs - 2 * TICK_MS)
    this.#lastMs = nowMs
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

export type Control = Awaited<ReturnType<typeof startControl>>

export async function startControl(heldUp: HeldUp) {
  const port = await freePort()
  const program = await startProgram({
    file: process.execPath,
    arguments: [join(import.meta.dirname, 'control-server.ts'), String(port)],
    cwd: import.meta.dirname,
    readyWhen: /ready/,
  })
  let slowestMs = 0
  let going = true
  const asking = (async () => {
    while (going) {
      const startedMs = performance.now()
      const before = heldUp.sumMs
      await get(`http://127.0.0.1:${port}/`)
      slowestMs = Math.max(slowestMs, performance.now() - startedMs - (heldUp.sumMs - before))
    }
  })()
  return {
    takeSlowestMs() {
      const taken = slowestMs
      slowestMs = 0
      return taken
    },
    async [Symbol.asyncDispose]() {
      going = false
      await asking
      await program.kill()
    },
  }
}

export type Pace = 'in time' | 'as slow as the machine' | 'too slow'

/**
 * Judges the slowest response. It may take twice as long as the slowest control response (275 ms and delays of the
 * machine), or twice the limit if that is longer.
 */
export function paceOf(slowestMs: number, controlMs: number): Pace {
  if (slowestMs <= ANSWER_WITHIN_MS) return 'in time'
  return slowestMs <= 2 * Math.max(ANSWER_WITHIN_MS, controlMs)
    ? 'as slow as the machine'
    : 'too slow'
}
