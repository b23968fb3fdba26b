import { join } from 'node:path'

import { freePort, startProgram } from '../support/programs.ts'
import { get } from '../support/wire.ts'

/** The slowest answer that design 24 allows. */
const ANSWER_WITHIN_MS = 500

/** What one tick of the clock below takes when nothing is in its way. */
const TICK_MS = 5

/**
 * How long this process was kept from listening, in all, since it began. What a request took is less
 * by what was added to it meanwhile: an answer that waited in the socket was not late.
 */
export class HeldUp {
  #sumMs = 0
  #lastMs = performance.now()
  readonly #timer: NodeJS.Timeout

  constructor() {
    // Timers come before sockets in a turn of the loop, so that the sum is right when an answer is read.
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

/** Measures what a server of the same machine needs that does nothing but wait. */
export interface Control extends AsyncDisposable {
  /** The slowest answer since the last call, in milliseconds. */
  takeSlowestMs(): number
}

export async function startControl(heldUp: HeldUp): Promise<Control> {
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

/** Whether the slowest answer is in time, late as everything on this machine is, or too late. */
export type Pace = 'in time' | 'as slow as the machine' | 'too slow'

/**
 * An answer of the control server takes 275 ms and what the machine adds to that; the service, which
 * computes besides, gets twice the time of the slowest of them, and never less than twice its limit.
 */
export function paceOf(slowestMs: number, controlMs: number): Pace {
  if (slowestMs <= ANSWER_WITHIN_MS) return 'in time'
  return slowestMs <= 2 * Math.max(ANSWER_WITHIN_MS, controlMs)
    ? 'as slow as the machine'
    : 'too slow'
}
