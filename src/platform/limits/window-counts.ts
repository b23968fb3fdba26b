import { hash, randomUUID } from 'node:crypto'

/** The count of one key in its window, as known to this process. */
export interface Count {
  /** The total of all processes at the last exchange, plus the points that this process has counted since. */
  points: number
  /** Points not yet reported to the other processes. */
  unsent: number
  /** When the window ends, in epoch milliseconds by the clock of this process. */
  endsAtMs: number
}

interface Generation {
  readonly counts: Map<string, Count>
  /** Points of the keys without their own count, in shared cells. Allocated when first needed. */
  cells?: Uint32Array
}

/** The maximum number of keys per generation with their own count, at about 200 bytes each. */
const KEYS_MAX = 10_000
/** The number of shared cells. Two digest bytes select a cell; the cells of a generation take 256 KiB. */
const CELLS = 65_536

/**
 * The counts of one limit in this process. A window begins with the first count of its key. No count is evicted, so a
 * caller cannot reset a count by creating many other counts. To bound memory, keys are kept in two generations. The
 * older generation is dropped after a full window, when all its windows have ended. Keys beyond KEYS_MAX in a
 * generation share cells (a count-min sketch with one row). Their counts may be too high, but never too low.
 */
export class WindowCounts {
  readonly #windowMs: number
  readonly #now: () => number
  readonly #keysMax: number
  /** A random seed, so no caller can choose which keys share a cell. */
  readonly #seed = randomUUID()
  #young: Generation = { counts: new Map() }
  #old: Generation = { counts: new Map() }
  #rotatesAtMs = 0

  constructor(windowMs: number, now: () => number, keysMax = KEYS_MAX) {
    this.#windowMs = windowMs
    this.#now = now
    this.#keysMax = keysMax
  }

  get size(): number {
    return this.#young.counts.size + this.#old.counts.size
  }

  /** Returns the count of a key, or of the cell that it shares. Undefined if there is none, or its window has ended. */
  find(key: string): Count | undefined {
    const count = this.#ownCount(key, this.#now())
    if (count) return count
    const points = this.#sharedPoints(this.#cellOf(key))
    return points === 0 ? undefined : { points, unsent: 0, endsAtMs: this.#rotatesAtMs }
  }

  /** Adds points, or subtracts them if negative. Returns the key's own count; undefined if it has none. */
  add(key: string, points: number): Count | undefined {
    const nowMs = this.#now()
    const known = this.#ownCount(key, nowMs)
    if (known) {
      known.points = Math.max(0, known.points + points)
      known.unsent += points
      return known
    }
    const cell = this.#cellOf(key)
    if (points <= 0) {
      this.#giveBack(cell, -points)
      return undefined
    }
    const { counts } = this.#young
    if (counts.size >= this.#keysMax || this.#sharedPoints(cell) > 0) {
      this.#young.cells ??= new Uint32Array(CELLS)
      this.#young.cells[cell] = pointsIn(this.#young, cell) + points
      return undefined
    }
    const count = { points, unsent: points, endsAtMs: nowMs + this.#windowMs }
    this.#old.counts.delete(key)
    counts.set(key, count)
    return count
  }

  #ownCount(key: string, nowMs: number): Count | undefined {
    if (nowMs >= this.#rotatesAtMs) this.#rotate(nowMs)
    const count = this.#young.counts.get(key) ?? this.#old.counts.get(key)
    return count && count.endsAtMs > nowMs ? count : undefined
  }

  #rotate(nowMs: number): void {
    // After a whole window without any count, both generations have expired.
    const isSilent = nowMs >= this.#rotatesAtMs + this.#windowMs
    this.#old = isSilent ? { counts: new Map() } : this.#young
    this.#young = { counts: new Map() }
    this.#rotatesAtMs = nowMs + this.#windowMs
  }

  /** Returns the cell of a key; 0 while no keys share cells, which avoids computing the digest. */
  #cellOf(key: string): number {
    const isFull = this.#young.cells ?? this.#old.cells ?? this.#young.counts.size >= this.#keysMax
    return isFull ? hash('sha256', this.#seed + key, 'buffer').readUInt16LE() : 0
  }

  #sharedPoints(cell: number): number {
    return pointsIn(this.#young, cell) + pointsIn(this.#old, cell)
  }

  /** Subtracts points in a generation whose cell has enough of them, so no cell becomes negative. */
  #giveBack(cell: number, points: number): void {
    const { cells } = [this.#young, this.#old].find((each) => pointsIn(each, cell) >= points) ?? {}
    if (cells) cells[cell] = (cells[cell] ?? 0) - points
  }
}

function pointsIn({ cells }: Generation, cell: number): number {
  return cells?.[cell] ?? 0
}
