import { flushingSoon } from '../support/gatehouse.ts'
import { withoutAnyLimit } from '../support/limits.ts'
import { sharedService } from '../support/storages.ts'
import type { Answer } from '../support/wire.ts'
import { afterwards, expectWell, makeWorld, outcomeOf, type World } from './world.ts'

/**
 * One attack: a row of docs/reference/hostile-cases.md and a test. A number is never reused, so append new cases to the
 * end of a list.
 */
export type Row = readonly [
  number: number,
  /** What is sent, with the advisory if there is one, and the target if several targets get the same attack. */
  attack: string | readonly [what: string, where: string],
  /** The expected result of `outcomeOf`, optionally followed by a semicolon and a key of `afterwards`. */
  answer: string,
  send: (world: World) => Promise<Answer | readonly Answer[]>,
]

/** Returns its arguments as a row. The formatter needs fewer lines for a call than for a tuple. */
export const row = (...parts: Row): Row => parts

/** Entries of a table: the attack, the expected answer, and values for the request. */
export type Entries<Needs extends readonly unknown[]> = readonly (readonly [
  what: string,
  answer: string,
  ...needs: Needs,
])[]

/** Creates entries that all expect the same answer. */
export function answered<Needs extends readonly unknown[]>(
  answer: string,
  entries: readonly (readonly [what: string, ...needs: Needs])[],
): Entries<Needs> {
  return entries.map(([what, ...needs]) => [what, answer, ...needs])
}

/** Creates a row for each entry, with consecutive numbers. `attack` completes the description of an entry. */
export function numbered<Needs extends readonly unknown[]>(
  at: number | { readonly first: number; readonly attack: (what: string) => Row[1] },
  entries: Entries<Needs>,
  request: (world: World, needs: Needs) => ReturnType<Row[3]>,
): Row[] {
  const { first, attack } = typeof at === 'number' ? { first: at, attack: String } : at
  return entries.map(([what, answer, ...needs], position) => [
    ...([first + position, attack(what), answer] as const),
    async (world) => await request(world, needs),
  ])
}

/** The cases of one part of the service, which form a section of docs/reference/hostile-cases.md. */
export type CaseTable = ReturnType<typeof tableOf>
export type HostileCase = CaseTable['cases'][number]

export function tableOf(title: string, file: string, rows: readonly Row[]) {
  const cases = rows.map(([number, attack, answer, send]) => ({
    ...{ number, answer, send },
    attack: [attack].flat().join(', '),
    repeated: typeof attack === 'string' ? undefined : attack,
  }))
  return { title, file: `test/hostile/${file}`, cases }
}

/** Runs each case as a test, all on one service and from one IP address. */
export function runTable({ title, cases }: CaseTable): void {
  describe(title, () => {
    const service = sharedService({ policy: (policy) => flushingSoon(withoutAnyLimit(policy)) })
    let world: World
    before(() => {
      world = makeWorld(service())
    })
    for (const { number, attack, answer, send } of cases) {
      const [expected = '', then] = answer.split('; ')
      const check = then === undefined ? undefined : afterwards[then]
      if (then !== undefined && !check) throw new Error(`there is no check for: ${then}`)
      it(`${number}: ${attack}`, async () => {
        const before = await world.decided()
        const answers = [await send(world)].flat()
        expect(answers).to.not.have.lengthOf(0)
        for (const seen of answers)
          expect(outcomeOf(seen, world.url), seen.text.slice(0, 600)).to.equal(expected)
        await check?.(world, before)
        await expectWell(world)
      })
    }
  })
}
