/**
 * Decisions that a seed repeats: mulberry32, a generator of 32 bits that is plenty for choosing among
 * a few things.
 */
export interface Chance {
  /** From 0 up to but not including `below`. */
  number(below: number): number
  /** Whether something of this probability happens. */
  is(probability: number): boolean
  pick<Value>(values: readonly Value[]): Value
  /** As many as a list has room for, each made anew. */
  many<Value>(most: number, make: () => Value): Value[]
}

export function makeChance(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const chance: Chance = {
    number: (below) => Math.floor(next() * below),
    is: (probability) => next() < probability,
    pick(values) {
      const value = values[chance.number(values.length)]
      if (value === undefined && values.length === 0) throw new Error('there is nothing to pick')
      return value as (typeof values)[number]
    },
    many: (most, make) => Array.from({ length: chance.number(most + 1) }, make),
  }
  return chance
}
