import { setImmediate } from 'node:timers/promises'

import { type Kysely, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import type { Question } from './period.ts'
import { addTo, dayOf, inPieces, type Tally } from './pieces.ts'

/**
 * Who watched, and who completed a course, from the places where people stopped in lectures. Of each
 * person and lecture there is one place with one time, the last: somebody who watches a lecture again is
 * active on the later day and no longer on the earlier one.
 *
 * A course is completed when the person stopped in each of its lectures at 90 % or later, on the day
 * of the last of these times. That is asked of the lectures that the course has now.
 */

// `cross join`, because SQLite keeps to the order in which it is written: people first, of whom there are few.

/** With what each of them watched, some thousands of rows. */
const PEOPLE_PER_PIECE = 250

const isWatched = sql<boolean>`w.position_seconds * 10 >= lecture.duration_seconds * 9`

interface Counted<Key> {
  readonly key: Key
  readonly total: number
}

/** How many people with a role at the site watched something there, by day. */
export async function countActiveByDay(
  kysely: Kysely<Schema>,
  question: Question,
): Promise<Tally<number>> {
  const { siteId, fromMs, untilMs } = question
  return await countByMembers(kysely, siteId, async (personIds) => {
    const { rows } = await sql<Counted<number>>`
      select ${dayOf('w.watched_at')} as key, count(distinct w.person_id) as total
      from watch_position as w
      cross join lecture
      cross join course
      where lecture.id = w.lecture_id and course.id = lecture.course_id
        and w.person_id in (${sql.join(personIds)}) and course.site_id = ${siteId}
        and w.watched_at >= ${fromMs} and w.watched_at < ${untilMs}
      group by 1`.execute(kysely)
    return rows
  })
}

/** How many courses were completed by people with a role at the site, by day. */
export async function countCompletedByDay(
  kysely: Kysely<Schema>,
  question: Question,
): Promise<Tally<number>> {
  const { siteId, fromMs, untilMs } = question
  return await countByMembers(kysely, siteId, async (personIds) => {
    const { rows } = await sql<Counted<number>>`
      select ${dayOf('completed.at')} as key, count(*) as total from (
        select max(w.watched_at) as at
        from watch_position as w
        cross join lecture
        cross join course
        where lecture.id = w.lecture_id and course.id = lecture.course_id
          and w.person_id in (${sql.join(personIds)}) and course.site_id = ${siteId}
          and ${isWatched}
        group by w.person_id, lecture.course_id
        having max(w.watched_at) >= ${fromMs} and max(w.watched_at) < ${untilMs}
          and count(*) = (select count(*) from lecture as every
            where every.course_id = lecture.course_id)
      ) as completed
      group by 1`.execute(kysely)
    return rows
  })
}

/** How many of those who were ever enrolled in each course watched something of it in the period. */
export async function countActiveByCourse(
  kysely: Kysely<Schema>,
  { fromMs, untilMs }: Question,
  courseIds: readonly string[],
): Promise<Tally<string>> {
  return await countByCourse(kysely, courseIds, async (courseId, personIds) => {
    const { rows } = await sql<Counted<string>>`
      select lecture.course_id as key, count(distinct w.person_id) as total
      from watch_position as w
      cross join lecture
      where lecture.id = w.lecture_id
        and w.person_id in (${sql.join(personIds)}) and lecture.course_id = ${courseId}
        and w.watched_at >= ${fromMs} and w.watched_at < ${untilMs}
      group by lecture.course_id`.execute(kysely)
    return rows
  })
}

/** How many of those who were ever enrolled in each course completed it in the period. */
export async function countCompletedByCourse(
  kysely: Kysely<Schema>,
  { fromMs, untilMs }: Question,
  courseIds: readonly string[],
): Promise<Tally<string>> {
  return await countByCourse(kysely, courseIds, async (courseId, personIds) => {
    const { rows } = await sql<Counted<string>>`
      select course_id as key, count(*) as total from (
        select lecture.course_id
        from watch_position as w
        cross join lecture
        where lecture.id = w.lecture_id
          and w.person_id in (${sql.join(personIds)}) and lecture.course_id = ${courseId}
          and ${isWatched}
        group by w.person_id, lecture.course_id
        having max(w.watched_at) >= ${fromMs} and max(w.watched_at) < ${untilMs}
          and count(*) = (select count(*) from lecture as every
            where every.course_id = lecture.course_id)
      ) as completed
      group by course_id`.execute(kysely)
    return rows
  })
}

/** Adds up what is counted for all people of the site; one person is never in two pieces. */
async function countByMembers(
  kysely: Kysely<Schema>,
  siteId: string,
  count: (personIds: readonly string[]) => Promise<readonly Counted<number>[]>,
): Promise<Tally<number>> {
  const tally: Tally<number> = new Map()
  const people = inPieces<{ personId: string }>(PEOPLE_PER_PIECE, async (after) =>
    kysely
      .selectFrom('site_role')
      .select('person_id as personId')
      .distinct()
      .where('site_id', '=', siteId)
      .where('person_id', '>', after?.personId ?? '')
      .orderBy('person_id')
      .limit(PEOPLE_PER_PIECE)
      .execute(),
  )
  for await (const piece of people) addTo(tally, await count(piece.map(({ personId }) => personId)))
  return tally
}

interface Enrolled {
  readonly id: string
  readonly personId: string
  readonly purchasedAt: number
}

/** Adds up what is counted for all who were ever enrolled, course by course. */
async function countByCourse(
  kysely: Kysely<Schema>,
  courseIds: readonly string[],
  count: (courseId: string, personIds: readonly string[]) => Promise<readonly Counted<string>[]>,
): Promise<Tally<string>> {
  const tally: Tally<string> = new Map()
  for (const courseId of courseIds) {
    // A course may be small, and there may be a hundred of them.
    await setImmediate()
    const people = inPieces<Enrolled>(PEOPLE_PER_PIECE, async (after) =>
      listEnrolled(kysely, courseId, after),
    )
    for await (const piece of people) {
      const personIds = piece.map(({ personId }) => personId)
      addTo(tally, await count(courseId, personIds))
    }
  }
  return tally
}

async function listEnrolled(
  kysely: Kysely<Schema>,
  courseId: string,
  after: Enrolled | undefined,
): Promise<readonly Enrolled[]> {
  const { rows } = await sql<Enrolled>`
    select id, person_id as "personId", purchased_at as "purchasedAt" from course_purchase
    where course_id = ${courseId}
      ${after ? sql`and (purchased_at, id) > (${after.purchasedAt}, ${after.id})` : sql``}
    order by purchased_at, id limit ${PEOPLE_PER_PIECE}`.execute(kysely)
  return rows
}
