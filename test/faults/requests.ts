import { setTimeout as delay } from 'node:timers/promises'

import type { Answer } from '../support/wire.ts'

/** After this time without a response, a request counts as hung. */
const HANG_MS = 10_000
const ANSWER_WITHIN_MS = 15_000

/** A response, or how a request without a response ended. */
export interface Seen {
  readonly status: number | 'refused' | 'reset' | 'hung'
  readonly body?: Answer['body']
}

type Send = (address: string) => Promise<Seen>

/** Sends requests to the addresses in turn, and records outcomes. Repeats a request once if a connection is refused. */
export class Requests {
  readonly outcomes = new Map<string, number>()
  refusedOnce = 0
  slowestMs = 0
  slowestWas = ''
  readonly #addresses: readonly string[]
  #turn = 0

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses
  }

  get count(): number {
    return [...this.outcomes.values()].reduce((sum, count) => sum + count, 0)
  }

  of(outcome: string): number {
    return this.outcomes.get(outcome) ?? 0
  }

  async ask(what: string, send: Send): Promise<Seen> {
    this.#turn += 1
    const first = this.#turn
    let seen = await this.#once(what, send, first)
    if (seen.status === 'refused') {
      this.refusedOnce += 1
      seen = await this.#once(what, send, first + 1)
    }
    const outcome = typeof seen.status === 'string' ? `${seen.status} ${what}` : `${seen.status}`
    this.outcomes.set(outcome, this.of(outcome) + 1)
    return seen
  }

  /** Repeats a request until it gets a response other than 503. Throws after the time limit. */
  async askUntilAnswered(what: string, send: Send): Promise<Seen> {
    const deadlineMs = performance.now() + ANSWER_WITHIN_MS
    for (;;) {
      const seen = await this.ask(what, send)
      if (typeof seen.status === 'number' && seen.status !== 503) return seen
      if (performance.now() > deadlineMs) throw new Error(`${what} got no response in time`)
      await delay(50)
    }
  }

  async #once(what: string, send: Send, turn: number): Promise<Seen> {
    const address = this.#addresses[turn % this.#addresses.length] ?? ''
    const startedMs = performance.now()
    const hang = delay(HANG_MS, { status: 'hung' } as const, { ref: false })
    const seen = await Promise.race([send(address).catch(brokenBy), hang])
    if (seen.status === 'refused' || seen.status === 'reset') return seen
    const tookMs = performance.now() - startedMs
    if (tookMs > this.slowestMs) {
      this.slowestMs = tookMs
      this.slowestWas = `${what} ${seen.status}`
    }
    return seen
  }
}

function brokenBy(error: unknown): Seen {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return { status: 'refused' }
  if (/^(ECONNRESET|EPIPE|ECONNABORTED)$/.test(code)) return { status: 'reset' }
  throw error
}
