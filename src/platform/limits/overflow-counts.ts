import { randomInt } from 'node:crypto'

const ROWS = 4
const CELLS = 16_384
/** FNV-1a, 32 bits. */
const PRIME = 0x01000193

/**
 * Counts of any number of keys in one mebibyte (a count-min sketch): a key has a cell in each row, which
 * it shares with others, and its count is the smallest of them, which is never less than it did. Which
 * keys share is drawn anew in each process, so that nobody can choose with whom. Four rows of an older
 * generation count on for one window.
 */
export class OverflowCounts {
  readonly #seeds = Array.from({ length: ROWS }, () => randomInt(2 ** 32))
  #young = new Uint32Array(ROWS * CELLS)
  #old: Uint32Array | undefined

  add(key: string, points: number): void {
    for (const cell of this.#cellsOf(key)) this.#young[cell] = (this.#young[cell] ?? 0) + points
  }

  /** Takes back what was added, of the generation that can have it: no cell has less than nothing. */
  giveBack(key: string, points: number): void {
    const cells = this.#cellsOf(key)
    const from = [this.#young, this.#old].find((all) => all && smallest(all, cells) >= points)
    for (const cell of cells) if (from) from[cell] = (from[cell] ?? 0) - points
  }

  find(key: string): number {
    const cells = this.#cellsOf(key)
    return smallest(this.#young, cells) + (this.#old ? smallest(this.#old, cells) : 0)
  }

  /** The next generation; nothing when there was nothing in this one. */
  turn(): OverflowCounts | undefined {
    if (!this.#young.some((points) => points > 0)) return undefined
    this.#old = this.#young
    this.#young = new Uint32Array(ROWS * CELLS)
    return this
  }

  #cellsOf(key: string): number[] {
    return this.#seeds.map((seed, row) => row * CELLS + (hash(key, seed) % CELLS))
  }
}

function hash(key: string, seed: number): number {
  let state = seed
  for (let at = 0; at < key.length; at += 1) {
    state = Math.imul(state ^ key.charCodeAt(at), PRIME)
  }
  // Without this the low bits would know little of the first characters.
  state ^= state >>> 15
  state = Math.imul(state, 0x85ebca6b)
  return (state ^ (state >>> 13)) >>> 0
}

function smallest(points: Uint32Array, cells: readonly number[]): number {
  return Math.min(...cells.map((cell) => points[cell] ?? 0))
}
