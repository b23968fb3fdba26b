import { expect } from 'chai'

import { withoutAnyLimit } from '../support/limits.ts'
import { sharedService } from '../support/shared-service.ts'
import type { Answer } from '../support/wire.ts'
import { afterwards, expectWell, makeWorld, outcomeOf, type World } from './world.ts'

/** One attack: a row of docs/reference/hostile-cases.md and a test. */
export interface HostileCase {
  /** Never reused, so lists grow at their end. */
  readonly number: number
  /** What is sent, with the advisory if there is one. */
  readonly attack: string
  /** The attack without its place and the place, where several places get the same attack. */
  readonly repeated?: readonly [what: string, where: string]
  /**
   * The expected answer in the words of `outcomeOf`; after a semicolon what holds afterwards, a key of
   * `afterwards`.
   */
  readonly answer: string
  readonly send: (world: World) => Promise<Answer | readonly Answer[]>
}

/** Cases of one part of the service: a section of the page. */
export interface CaseTable {
  /** Heading and title of the tests. */
  readonly title: string
  /** File of the table. */
  readonly file: string
  readonly cases: readonly HostileCase[]
}

/** A row as written in a table. */
export type Row = readonly [
  number: number,
  attack: string | readonly [what: string, where: string],
  answer: string,
  send: HostileCase['send'],
]

export function tableOf(title: string, file: string, rows: readonly Row[]): CaseTable {
  const cases = rows.map(([number, attack, answer, send]) =>
    typeof attack === 'string'
      ? { number, attack, answer, send }
      : { number, attack: attack.join(', '), repeated: attack, answer, send },
  )
  return { title, file: `test/hostile/${file}`, cases }
}

/** A test for each case, all on one service. */
export function runTable({ title, cases }: CaseTable): void {
  describe(title, () => {
    // All requests come from one address.
    const service = sharedService({ policy: withoutAnyLimit })
    let world: World
    before(() => {
      world = makeWorld(service())
    })
    for (const { number, attack, answer, send } of cases) {
      it(`${number}: ${attack}`, async () => {
        const [expected = '', then] = answer.split('; ')
        const before = await world.decided()
        const answers = [await send(world)].flat()
        expect(answers).to.not.have.lengthOf(0)
        for (const seen of answers) {
          expect(outcomeOf(seen, world.url), seen.text.slice(0, 600)).to.equal(expected)
        }
        if (then !== undefined) await holds(then)(world, before)
        await expectWell(world)
      })
    }
  })
}

function holds(words: string) {
  const check = afterwards[words]
  if (!check) throw new Error(`there is no check for: ${words}`)
  return check
}
