import { type Kysely, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/** How far somebody came in a course. */
export interface Progress {
  readonly lectureCount: number
  /** Of how many the end was reached. */
  readonly completedLectureCount: number
  readonly lastWatched:
    | { readonly lectureId: string; readonly title: string; readonly watchedAt: number }
    | undefined
}

/** As many enrolments as one statement looks at: a course may have very many lectures. */
const BATCH_ENROLMENTS_MAX = 200

/** The progress of several enrolments. Two queries for each two hundred. */
export async function listProgress(
  kysely: Kysely<Schema>,
  enrolmentIds: readonly string[],
): Promise<Map<string, Progress>> {
  const found = new Map<string, Progress>()
  for (let first = 0; first < enrolmentIds.length; first += BATCH_ENROLMENTS_MAX) {
    const batch = enrolmentIds.slice(first, first + BATCH_ENROLMENTS_MAX)
    const [counts, watched] = await Promise.all([
      countLectures(kysely, batch),
      lastWatched(kysely, batch),
    ])
    for (const { id, lectureCount } of counts) {
      const row = watched.get(id)
      found.set(id, {
        lectureCount: Number(lectureCount),
        completedLectureCount: Number(row?.completed ?? 0),
        lastWatched: row,
      })
    }
  }
  return found
}

async function countLectures(kysely: Kysely<Schema>, ids: readonly string[]) {
  return await kysely
    .selectFrom('course_purchase as bought')
    .select([
      'bought.id',
      sql<number>`(select count(*) from lecture where course_id = bought.course_id)`.as(
        'lectureCount',
      ),
    ])
    .where('bought.id', 'in', ids)
    .execute()
}

async function lastWatched(kysely: Kysely<Schema>, ids: readonly string[]) {
  const rows = await kysely
    .selectFrom(
      kysely
        .selectFrom('course_purchase as bought')
        .innerJoin('lecture', 'lecture.course_id', 'bought.course_id')
        .innerJoin('watch_position as watched', (join) =>
          join
            .onRef('watched.person_id', '=', 'bought.person_id')
            .onRef('watched.lecture_id', '=', 'lecture.id'),
        )
        .where('bought.id', 'in', ids)
        .select([
          'bought.id',
          'lecture.id as lectureId',
          'lecture.title',
          'watched.watched_at as watchedAt',
          sql<number>`sum(case when watched.position_seconds >= lecture.duration_seconds
            then 1 else 0 end) over (partition by bought.id)`.as('completed'),
          sql<number>`row_number() over (
            partition by bought.id order by watched.watched_at desc, lecture.id)`.as('place'),
        ])
        .as('numbered'),
    )
    .select(['id', 'lectureId', 'title', 'watchedAt', 'completed'])
    .where('place', '=', 1)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
