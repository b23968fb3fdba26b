import { setImmediate } from 'node:timers/promises'

import { type RawBuilder, sql } from 'kysely'

import {
  addTo,
  type CountByCourse,
  type CountByDay,
  type Counted,
  dayOfColumn,
  idsOfSite,
  type Question,
  readInPieces,
  type Tally,
  tallyOf,
} from './counting.ts'

/**
 * Counts active people and completed courses from watch positions. A person has one position per lecture, with the time
 * of the last view. If a lecture is watched again, the activity moves to a later day. A person has completed a course
 * if their positions in all its current lectures are at 90% or more. Completion counts on the day of the last view.
 */

/** The maximum number of people per statement. A statement usually reads a few thousand watch positions. */
const PEOPLE_PER_PIECE = 250

/** SQL that selects the watch positions of a group of people: `from … where …`. */
type Watched = RawBuilder<unknown>

type Activity = typeof active

/** Returns the SQL that counts, by day or course, the people whose last view of a lecture is in the period. */
export function active<Key>({ fromMs, untilMs }: Question, watched: Watched, by: 'day' | 'course') {
  const key = by === 'day' ? dayOfColumn('w.watched_at') : sql.ref('lecture.course_id')
  return sql<Counted<Key>>`
    select ${key} as key, count(distinct w.person_id) as total ${watched}
      and w.watched_at >= ${fromMs} and w.watched_at < ${untilMs}
    group by 1`
}

/** Returns the SQL that counts course completions in the period, by day or course. */
export function completed<Key>(
  { fromMs, untilMs }: Question,
  watched: Watched,
  by: 'day' | 'course',
) {
  const key = by === 'day' ? dayOfColumn('completed.at') : sql.ref('completed.course_id')
  return sql<Counted<Key>>`
    select ${key} as key, count(*) as total from (
      select lecture.course_id, max(w.watched_at) as at ${watched}
        and w.position_seconds * 10 >= lecture.duration_seconds * 9
      group by w.person_id, lecture.course_id
      having max(w.watched_at) >= ${fromMs} and max(w.watched_at) < ${untilMs}
        and count(*) = (select count(*) from lecture as every
          where every.course_id = lecture.course_id)
    ) as completed
    group by 1`
}

/** Creates the function that counts an activity at a site by day. The function reads the site's people in batches. */
export function countByMembers(activity: Activity): CountByDay {
  return async (kysely, question) => {
    const { siteId } = question
    const people = idsOfSite(kysely, siteId, ['site_role', 'person_id'], PEOPLE_PER_PIECE)
    return await tallyOf(people, async (personIds) => {
      // SQLite keeps the order of a `cross join`, so it reads the positions of these people first.
      const watched = sql`
        from watch_position as w
        cross join lecture
        cross join course
        where lecture.id = w.lecture_id and course.id = lecture.course_id
          and w.person_id in (${sql.join(personIds)})
          and course.site_id = ${siteId}`
      return (await activity<number>(question, watched, 'day').execute(kysely)).rows
    })
  }
}

interface Enrolled {
  readonly id: string
  readonly personId: string
  readonly purchasedAt: number
}

/** Creates the function that counts an activity of current and past students, one course at a time. */
export function countByCourse(activity: Activity): CountByCourse {
  return async (kysely, question, courseIds) => {
    const tally: Tally<string> = new Map()
    for (const courseId of courseIds) {
      // Yield to the event loop between courses, because a site may have many small courses.
      await setImmediate()
      const students = readInPieces<Enrolled>(PEOPLE_PER_PIECE, async (after) => {
        const { rows } = await sql<Enrolled>`
          select id, person_id as "personId", purchased_at as "purchasedAt" from course_purchase
          where course_id = ${courseId}
            ${after ? sql`and (purchased_at, id) > (${after.purchasedAt}, ${after.id})` : sql``}
          order by purchased_at, id limit ${PEOPLE_PER_PIECE}`.execute(kysely)
        return rows
      })
      for await (const piece of students) {
        const watched = sql`
          from watch_position as w
          cross join lecture
          where lecture.id = w.lecture_id
            and w.person_id in (${sql.join(piece.map(({ personId }) => personId))})
            and lecture.course_id = ${courseId}`
        addTo(tally, (await activity<string>(question, watched, 'course').execute(kysely)).rows)
      }
    }
    return tally
  }
}
