import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'

/** Creates the functions that read a person's progress in several courses at once. */
export function courseProgress({ kysely }: Database) {
  return {
    /** Finds, for each course, the lecture that a person watched last, with one query. */
    async findLastWatched(personId: string, courseIds: readonly string[]) {
      const latest = sql<number>`row_number() over (
          partition by lecture.course_id order by watch_position.watched_at desc, lecture.id
        )`
      const rows = await kysely
        .selectFrom(
          kysely
            .selectFrom('watch_position')
            .innerJoin('lecture', 'lecture.id', 'watch_position.lecture_id')
            .where('watch_position.person_id', '=', personId)
            .where('lecture.course_id', 'in', courseIds)
            .select(['lecture.course_id as courseId', 'lecture.id as lectureId', 'lecture.title'])
            .select(['lecture.duration_seconds as durationSeconds', latest.as('place')])
            .select('watch_position.position_seconds as positionSeconds')
            .select('watch_position.watched_at as watchedAt')
            .as('watched'),
        )
        .selectAll()
        .where('place', '=', 1)
        .execute()
      return new Map(rows.map((row) => [row.courseId, row]))
    },

    /**
     * Computes the percentage of each course's lectures that a person has watched to the end, with one query. Rounds
     * down, so 100 means all lectures. Omits courses without lectures.
     */
    async findProgressPercent(
      personId: string,
      courseIds: readonly string[],
    ): Promise<Map<string, number>> {
      const rows = await kysely
        .selectFrom('lecture')
        .leftJoin('watch_position as watched', (join) =>
          join
            .onRef('watched.lecture_id', '=', 'lecture.id')
            .on('watched.person_id', '=', personId),
        )
        .where('lecture.course_id', 'in', courseIds)
        .groupBy('lecture.course_id')
        .select([
          'lecture.course_id as courseId',
          sql<number>`count(*)`.as('lectures'),
          sql<number>`sum(case when watched.position_seconds >= lecture.duration_seconds
            then 1 else 0 end)`.as('completed'),
        ])
        .execute()
      return new Map(
        rows.map(({ courseId, lectures, completed }) => [
          courseId,
          Math.floor((100 * Number(completed)) / Number(lectures)),
        ]),
      )
    },
  }
}
