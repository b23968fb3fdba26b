export type Chance = ReturnType<typeof makeChance>

/** Creates a source of random decisions that are the same for the same seed (mulberry32, a 32-bit generator). */
export function makeChance(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const number = (below: number) => Math.floor(next() * below)
  return {
    number,
    is: (probability: number) => next() < probability,
    pick<Value>(values: readonly Value[]): Value {
      const value = values[number(values.length)]
      if (value === undefined && values.length === 0) throw new Error('there is nothing to pick')
      return value as Value
    },
    many: <Value>(most: number, make: () => Value): Value[] =>
      Array.from({ length: number(most + 1) }, make),
  }
}
