import { setImmediate } from 'node:timers/promises'

import { type Kysely, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import {
  addTo,
  type CountByCourse,
  type CountByDay,
  type Counted,
  dayOfColumn,
  readInPieces,
  tallyOf,
} from './counting.ts'

/** The maximum number of enrolments that one statement counts. `countInSpan` splits a larger span. */
const ENROLMENTS_PER_PIECE = 10_000
const COURSES_PER_PIECE = 200

/** Counts the enrolments that began in the period, by day. */
export const countEnrolmentsByDay: CountByDay = async (kysely, { siteId, fromMs, untilMs }) => {
  const courses = readInPieces<{ id: string; slug: string }>(COURSES_PER_PIECE, async (after) =>
    kysely
      .selectFrom('course')
      .select(['id', 'slug'])
      .where('site_id', '=', siteId)
      .where('slug', '>', after?.slug ?? '')
      .orderBy('slug')
      .limit(COURSES_PER_PIECE)
      .execute(),
  )
  return await tallyOf(courses, async (piece) => {
    const courseIds = piece.map(({ id }) => id)
    return await countInSpan<number>(kysely, 'day', { courseIds, fromMs, untilMs })
  })
}

/** Counts the enrolments that began in the period, by course. */
export const countEnrolmentsByCourse: CountByCourse = async (kysely, question, courseIds) => {
  const { fromMs, untilMs } = question
  const rows = await countInSpan<string>(kysely, 'course', { courseIds, fromMs, untilMs })
  return addTo(new Map(), rows)
}

interface Span {
  readonly courseIds: readonly string[]
  readonly fromMs: number
  readonly untilMs: number
}

/** Counts enrolments. If there are too many for one statement, splits the courses or, for one course, the period. */
async function countInSpan<Key>(
  kysely: Kysely<Schema>,
  by: 'day' | 'course',
  span: Span,
): Promise<readonly Counted<Key>[]> {
  const halves = halvesOf(span)
  const key = by === 'day' ? dayOfColumn('purchased_at') : sql.ref('course_id')
  const { rows } = await sql<Counted<Key>>`
    select ${key} as key, count(*) as total
    from (
      select course_id, purchased_at from course_purchase
      where course_id in (${sql.join(span.courseIds)})
        and purchased_at >= ${span.fromMs} and purchased_at < ${span.untilMs}
      ${halves ? sql`limit ${ENROLMENTS_PER_PIECE + 1}` : sql``}
    ) as enrolled
    group by 1`.execute(kysely)
  const read = rows.reduce((sum, { total }) => sum + total, 0)
  if (!halves || read <= ENROLMENTS_PER_PIECE) return rows
  const counted: Counted<Key>[] = []
  for (const half of halves) {
    await setImmediate()
    counted.push(...(await countInSpan<Key>(kysely, by, half)))
  }
  return counted
}

/** Splits a span in half. @returns undefined for a span of one course and one millisecond */
function halvesOf({ courseIds, fromMs, untilMs }: Span): readonly Span[] | undefined {
  if (courseIds.length > 1) {
    const middle = Math.ceil(courseIds.length / 2)
    const parts = [courseIds.slice(0, middle), courseIds.slice(middle)]
    return parts.map((part) => ({ courseIds: part, fromMs, untilMs }))
  }
  if (untilMs - fromMs <= 1) return undefined
  const middleMs = Math.floor((fromMs + untilMs) / 2)
  return [
    { courseIds, fromMs, untilMs: middleMs },
    { courseIds, fromMs: middleMs, untilMs },
  ]
}
