import { setTimeout as delay } from 'node:timers/promises'

import type { Answer } from '../support/wire.ts'
import type { HeldUp } from './machine.ts'

/** Nobody waits longer; a request that has no answer by then is a hang. */
const HANG_MS = 10_000

/** How a request ended that was not answered. */
export type Broken = 'refused' | 'reset' | 'hung'

/** What an answer is judged by. */
export type Seen = Pick<Answer, 'status' | 'body'>

/** A request as it is sent to one of the addresses. */
export type Send = (address: string) => Promise<Seen>

/**
 * A client of several addresses: it takes them in turn, repeats a refused connection once at the next
 * one, and notes what came of each request and how long it took.
 */
export class Requests {
  /** Of what was sent, by status, or by how it broke. */
  readonly outcomes = new Map<string, number>()
  /** Connections that were refused, and whose request was repeated elsewhere. */
  refusedOnce = 0
  slowestMs = 0
  slowestWas = ''
  readonly #addresses: readonly string[]
  readonly #heldUp: HeldUp
  #turn = 0

  constructor(addresses: readonly string[], heldUp: HeldUp) {
    this.#addresses = addresses
    this.#heldUp = heldUp
  }

  get count(): number {
    return [...this.outcomes.values()].reduce((sum, count) => sum + count, 0)
  }

  of(outcome: string): number {
    return this.outcomes.get(outcome) ?? 0
  }

  /** @returns the answer, or how the request broke */
  async ask(what: string, send: Send, first = this.#nextTurn()): Promise<Seen | Broken> {
    let seen = await this.#once(what, send, this.#at(first))
    if (seen === 'refused') {
      this.refusedOnce += 1
      seen = await this.#once(what, send, this.#at(first + 1))
    }
    const outcome = typeof seen === 'string' ? `${seen} ${what}` : String(seen.status)
    this.outcomes.set(outcome, this.of(outcome) + 1)
    return seen
  }

  /** As `ask`, and again while the service says that it is not available, for a bounded time. */
  async askUntilAnswered(what: string, send: Send, forMs = 15_000): Promise<Seen> {
    const deadlineMs = performance.now() + forMs
    for (;;) {
      const seen = await this.ask(what, send)
      if (typeof seen !== 'string' && seen.status !== 503) return seen
      if (performance.now() > deadlineMs) throw new Error(`${what} had no answer`)
      await delay(50)
    }
  }

  #nextTurn(): number {
    this.#turn += 1
    return this.#turn
  }

  #at(turn: number): string {
    return this.#addresses[turn % this.#addresses.length] ?? ''
  }

  async #once(what: string, send: Send, address: string): Promise<Seen | Broken> {
    const startedMs = performance.now()
    const heldUpMs = this.#heldUp.sumMs
    const timer = new AbortController()
    const hang = delay(HANG_MS, 'hung' as const, { signal: timer.signal }).catch(
      () => 'hung' as const,
    )
    const seen = await Promise.race([send(address).catch(brokenBy), hang])
    timer.abort()
    if (seen === 'refused' || seen === 'reset') return seen
    const tookMs = performance.now() - startedMs - (this.#heldUp.sumMs - heldUpMs)
    if (tookMs > this.slowestMs) {
      this.slowestMs = tookMs
      this.slowestWas = `${what} ${typeof seen === 'string' ? seen : seen.status}`
    }
    return seen
  }
}

/** @throws what is no failure of a connection */
function brokenBy(error: unknown): Broken {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'refused'
  if (/^(ECONNRESET|EPIPE|ECONNABORTED)$/.test(code)) return 'reset'
  throw error
}
