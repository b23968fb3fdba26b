import { OverflowCounts } from './overflow-counts.ts'

/** What one key did within its window, as far as this process knows. */
export interface Count {
  /** Of all processes, as they were last heard of, and of this one since. */
  points: number
  /** What the others were not told yet. */
  unsent: number
  /** On the clock of this process. */
  endsAtMs: number
}

export interface CountsOptions {
  readonly windowMs: number
  readonly now: () => number
  /** How many keys are counted one by one; there are at most twice as many. */
  readonly keysMax?: number
}

/** One is about 200 bytes. */
const KEYS_MAX = 10_000

/**
 * The counts of one limit in this process. A window begins with the first count of its key.
 *
 * Nothing is ever pushed out, so that nobody can have their own count forgotten by making many others:
 * keys are in two generations, of which the older is dropped after a whole window, when all of its
 * windows have ended. When a generation is full, further keys share cells (overflow-counts.ts), which
 * count too much and never too little.
 */
export class Counts {
  readonly #windowMs: number
  readonly #now: () => number
  readonly #keysMax: number
  #young = new Map<string, Count>()
  #old = new Map<string, Count>()
  #overflow: OverflowCounts | undefined
  #turnsAtMs = 0

  constructor({ windowMs, now, keysMax = KEYS_MAX }: CountsOptions) {
    this.#windowMs = windowMs
    this.#now = now
    this.#keysMax = keysMax
  }

  /** How many keys are counted one by one. */
  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** The count of a key whose window has not ended. */
  find(key: string): Count | undefined {
    const nowMs = this.#now()
    if (nowMs >= this.#turnsAtMs) this.#turn(nowMs)
    const count = this.#young.get(key) ?? this.#old.get(key)
    if (count && count.endsAtMs > nowMs) return count
    const points = this.#overflow?.find(key) ?? 0
    return points === 0 ? undefined : { points, unsent: 0, endsAtMs: this.#turnsAtMs }
  }

  /** Adds to the count of a key, or takes from it, and gives it where it is counted one by one. */
  add(key: string, points: number): Count | undefined {
    const nowMs = this.#now()
    if (nowMs >= this.#turnsAtMs) this.#turn(nowMs)
    const known = this.#young.get(key) ?? this.#old.get(key)
    if (known && known.endsAtMs > nowMs) {
      known.points = Math.max(0, known.points + points)
      known.unsent += points
      return known
    }
    if (points <= 0) {
      this.#overflow?.giveBack(key, -points)
      return undefined
    }
    if (this.#young.size >= this.#keysMax || this.#overflow?.find(key)) {
      this.#overflow ??= new OverflowCounts()
      this.#overflow.add(key, points)
      return undefined
    }
    const count = { points, unsent: points, endsAtMs: nowMs + this.#windowMs }
    this.#old.delete(key)
    this.#young.set(key, count)
    return count
  }

  #turn(nowMs: number): void {
    // After a long silence both are over.
    const silent = nowMs >= this.#turnsAtMs + this.#windowMs
    this.#old = silent ? new Map() : this.#young
    this.#young = new Map()
    this.#overflow = silent ? undefined : this.#overflow?.turn()
    this.#turnsAtMs = nowMs + this.#windowMs
  }
}
