import { type Kysely, type RawBuilder, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import {
  addTo,
  type CountByCourse,
  type CountByDay,
  type Counted,
  dayOfColumn,
  idsOfSite,
  type Question,
  tallyOf,
  weeksOf,
} from './counting.ts'

const COURSES_PER_PIECE = 200

/** Counts the enrolments that began in the period, by day. */
export const countEnrolmentsByDay: CountByDay = async (kysely, question) => {
  const courses = idsOfSite(kysely, question.siteId, ['course', 'id'], COURSES_PER_PIECE)
  const countPiece = async (ids: readonly string[]) =>
    await count<number>(kysely, dayOfColumn('purchased_at'), question, ids)
  return await tallyOf(courses, countPiece)
}

/** Counts the enrolments that began in the period, by course. */
export const countEnrolmentsByCourse: CountByCourse = async (kysely, question, courseIds) =>
  addTo(new Map(), await count<string>(kysely, sql.ref('course_id'), question, courseIds))

/** Counts the enrolments in courses by a key, with one statement per week. A key may appear once for each week. */
async function count<Key>(
  kysely: Kysely<Schema>,
  key: RawBuilder<unknown>,
  question: Question,
  courseIds: readonly string[],
): Promise<readonly Counted<Key>[]> {
  const counted: Counted<Key>[] = []
  for await (const { fromMs, untilMs } of weeksOf(question)) {
    const { rows } = await sql<Counted<Key>>`
      select ${key} as key, count(*) as total from course_purchase
      where course_id in (${sql.join(courseIds)})
        and purchased_at >= ${fromMs} and purchased_at < ${untilMs}
      group by 1`.execute(kysely)
    counted.push(...rows)
  }
  return counted
}
