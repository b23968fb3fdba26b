import { setImmediate } from 'node:timers/promises'

import { type Kysely, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import { addTo, dayOf, inPieces, type Question, type Tally } from './counting.ts'

/** A statement reads no more than so many enrolments. */
const ENROLMENTS_PER_PIECE = 10_000
const COURSES_PER_PIECE = 200

/** How many enrolments began on each day. */
export async function countEnrolmentsByDay(
  kysely: Kysely<Schema>,
  { siteId, fromMs, untilMs }: Question,
): Promise<Tally<number>> {
  const tally: Tally<number> = new Map()
  const courses = inPieces<{ id: string; slug: string }>(COURSES_PER_PIECE, async (after) =>
    kysely
      .selectFrom('course')
      .select(['id', 'slug'])
      .where('site_id', '=', siteId)
      .where('slug', '>', after?.slug ?? '')
      .orderBy('slug')
      .limit(COURSES_PER_PIECE)
      .execute(),
  )
  for await (const piece of courses) {
    const courseIds = piece.map(({ id }) => id)
    await count(kysely, { courseIds, fromMs, untilMs }, ({ day, total }) =>
      addTo(tally, [{ key: day, total }]),
    )
  }
  return tally
}

/** How many enrolments in each of these courses began in the period. */
export async function countEnrolmentsByCourse(
  kysely: Kysely<Schema>,
  { fromMs, untilMs }: Question,
  courseIds: readonly string[],
): Promise<Tally<string>> {
  const tally: Tally<string> = new Map()
  await count(kysely, { courseIds, fromMs, untilMs }, ({ courseId, total }) =>
    addTo(tally, [{ key: courseId, total }]),
  )
  return tally
}

interface Span {
  readonly courseIds: readonly string[]
  readonly fromMs: number
  readonly untilMs: number
}

interface Enrolments {
  readonly courseId: string
  readonly day: number
  readonly total: number
}

/**
 * Counts what is within a span. When that is more than a statement should read, each half of the courses
 * is counted by itself, or each half of the time when there is one course.
 */
async function count(
  kysely: Kysely<Schema>,
  span: Span,
  add: (row: Enrolments) => void,
): Promise<void> {
  const halves = halvesOf(span)
  const found = await countAtMost(kysely, span, halves ? ENROLMENTS_PER_PIECE + 1 : undefined)
  const read = found.reduce((sum, { total }) => sum + total, 0)
  if (!halves || read <= ENROLMENTS_PER_PIECE) return found.forEach(add)
  for (const half of halves) {
    await setImmediate()
    await count(kysely, half, add)
  }
}

/** Nothing for one course and one millisecond. */
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

async function countAtMost(
  kysely: Kysely<Schema>,
  { courseIds, fromMs, untilMs }: Span,
  rowsMax: number | undefined,
): Promise<readonly Enrolments[]> {
  const limit = rowsMax === undefined ? sql`` : sql`limit ${rowsMax}`
  const { rows } = await sql<Enrolments>`
    select course_id as "courseId", ${dayOf('purchased_at')} as day, count(*) as total
    from (
      select course_id, purchased_at from course_purchase
      where course_id in (${sql.join(courseIds)})
        and purchased_at >= ${fromMs} and purchased_at < ${untilMs}
      ${limit}
    ) as enrolled
    group by 1, 2`.execute(kysely)
  return rows
}
