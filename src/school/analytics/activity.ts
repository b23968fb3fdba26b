import { setImmediate } from 'node:timers/promises'

import { type Kysely, type RawBuilder, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import { addTo, type Counted, dayOf, inPieces, type Question, type Tally } from './counting.ts'

/**
 * Who watched, and who completed a course, from the places where people stopped in lectures. Each
 * person has one place in each lecture with one time, the last: a person who watches a lecture again is
 * active on the later day and no longer on the earlier one.
 *
 * A course is completed when the person stopped in each of its lectures at 90 % or later, on the day
 * of the last of these times. That is asked of the lectures that the course has now.
 */

/** With what each of them watched, some thousands of rows. */
const PEOPLE_PER_PIECE = 250

/** How many people with a role at the site watched something there, by day. */
export async function countActiveByDay(
  kysely: Kysely<Schema>,
  question: Question,
): Promise<Tally<number>> {
  return await countByMembers(kysely, question, async (watched) =>
    countActive(kysely, question, watched, dayOf('w.watched_at')),
  )
}

/** How many courses were completed by people with a role at the site, by day. */
export async function countCompletedByDay(
  kysely: Kysely<Schema>,
  question: Question,
): Promise<Tally<number>> {
  return await countByMembers(kysely, question, async (watched) =>
    countCompleted(kysely, question, watched, dayOf('completed.at')),
  )
}

/** How many of those who were ever enrolled in each course watched something of it in the period. */
export async function countActiveByCourse(
  kysely: Kysely<Schema>,
  question: Question,
  courseIds: readonly string[],
): Promise<Tally<string>> {
  return await countByCourse(kysely, courseIds, async (watched) =>
    countActive(kysely, question, watched, sql<string>`lecture.course_id`),
  )
}

/** How many of those who were ever enrolled in each course completed it in the period. */
export async function countCompletedByCourse(
  kysely: Kysely<Schema>,
  question: Question,
  courseIds: readonly string[],
): Promise<Tally<string>> {
  return await countByCourse(kysely, courseIds, async (watched) =>
    countCompleted(kysely, question, watched, sql<string>`completed.course_id`),
  )
}

/** What some people watched, as `from … where …`. */
type Watched = RawBuilder<unknown>

async function countActive<Key>(
  kysely: Kysely<Schema>,
  { fromMs, untilMs }: Question,
  watched: Watched,
  key: RawBuilder<Key>,
): Promise<readonly Counted<Key>[]> {
  const { rows } = await sql<Counted<Key>>`
    select ${key} as key, count(distinct w.person_id) as total ${watched}
      and w.watched_at >= ${fromMs} and w.watched_at < ${untilMs}
    group by 1`.execute(kysely)
  return rows
}

async function countCompleted<Key>(
  kysely: Kysely<Schema>,
  { fromMs, untilMs }: Question,
  watched: Watched,
  key: RawBuilder<Key>,
): Promise<readonly Counted<Key>[]> {
  const { rows } = await sql<Counted<Key>>`
    select ${key} as key, count(*) as total from (
      select lecture.course_id, max(w.watched_at) as at ${watched}
        and w.position_seconds * 10 >= lecture.duration_seconds * 9
      group by w.person_id, lecture.course_id
      having max(w.watched_at) >= ${fromMs} and max(w.watched_at) < ${untilMs}
        and count(*) = (select count(*) from lecture as every
          where every.course_id = lecture.course_id)
    ) as completed
    group by 1`.execute(kysely)
  return rows
}

/** Adds up what is counted for all people of the site; one person is never in two pieces. */
async function countByMembers(
  kysely: Kysely<Schema>,
  { siteId }: Question,
  count: (watched: Watched) => Promise<readonly Counted<number>[]>,
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
  for await (const piece of people) {
    // `cross join`, because SQLite keeps to the order in which it is written: people first, who are few.
    const watched = sql`
      from watch_position as w
      cross join lecture
      cross join course
      where lecture.id = w.lecture_id and course.id = lecture.course_id
        and w.person_id in (${sql.join(piece.map(({ personId }) => personId))})
        and course.site_id = ${siteId}`
    addTo(tally, await count(watched))
  }
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
  count: (watched: Watched) => Promise<readonly Counted<string>[]>,
): Promise<Tally<string>> {
  const tally: Tally<string> = new Map()
  for (const courseId of courseIds) {
    // A course may be small, and there may be a hundred of them.
    await setImmediate()
    const people = inPieces<Enrolled>(PEOPLE_PER_PIECE, async (after) => {
      const { rows } = await sql<Enrolled>`
        select id, person_id as "personId", purchased_at as "purchasedAt" from course_purchase
        where course_id = ${courseId}
          ${after ? sql`and (purchased_at, id) > (${after.purchasedAt}, ${after.id})` : sql``}
        order by purchased_at, id limit ${PEOPLE_PER_PIECE}`.execute(kysely)
      return rows
    })
    for await (const piece of people) {
      const watched = sql`
        from watch_position as w
        cross join lecture
        where lecture.id = w.lecture_id
          and w.person_id in (${sql.join(piece.map(({ personId }) => personId))})
          and lecture.course_id = ${courseId}`
      addTo(tally, await count(watched))
    }
  }
  return tally
}
