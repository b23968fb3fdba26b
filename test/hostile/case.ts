import { expect } from 'chai'

import { withoutAnyLimit } from '../support/limits.ts'
import { sharedService } from '../support/shared-service.ts'
import type { Answer } from '../support/wire.ts'
import { afterwards, expectWell, makeWorld, outcomeOf, type World } from './world.ts'

/** One attack: a row of docs/reference/hostile-cases.md and a test. */
export interface HostileCase {
  /** Never given to another case, so that a list of cases grows at its end. */
  readonly number: number
  /** What is sent, with the advisory where there is one. */
  readonly attack: string
  /**
   * The one answer, as `outcomeOf` says it; after a semicolon what holds afterwards, in the words of
   * `afterwards`.
   */
  readonly answer: string
  readonly send: (world: World) => Promise<Answer | readonly Answer[]>
}

/** The cases of one part of the service: a section of the document. */
export interface CaseTable {
  /** The heading, and the title of the tests. */
  readonly title: string
  /** Where the table stands. */
  readonly file: string
  readonly cases: readonly HostileCase[]
}

/** A row as it is written down in a table: number, attack, answer, sending. */
export type Row = readonly [
  number: number,
  attack: string,
  answer: string,
  send: HostileCase['send'],
]

export function tableOf(title: string, file: string, rows: readonly Row[]): CaseTable {
  const cases = rows.map(([number, attack, answer, send]) => ({ number, attack, answer, send }))
  return { title, file: `test/hostile/${file}`, cases }
}

/** A test for each case, all at one service. */
export function runTable({ title, cases }: CaseTable): void {
  describe(title, () => {
    // One address sends all of it.
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
  if (!check) throw new Error(`nobody knows how to see that ${words}`)
  return check
}
