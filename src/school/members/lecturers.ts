import type { Kysely } from 'kysely'

import { insertNew } from '../../platform/store/insert-new.ts'
import { countRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { siteChange } from '../changes/change.ts'
import { conflict, limitReached } from '../changes/refusals.ts'
import { courses } from '../courses/course-store.ts'
import { PERSON_FIELDS } from './people-list.ts'
import { mustHaveRoles } from './site-roles.ts'

const LECTURERS_MAX = 100

/** Lists the courses that people teach at a site, sorted by slug, with one query. */
export async function listTaughtCourses(
  kysely: Kysely<Schema>,
  personIds: readonly string[],
  siteId: string,
) {
  const rows = await kysely
    .selectFrom('course_lecturer')
    // With a plain join, SQLite might read all the site's courses first.
    .crossJoin('course')
    .whereRef('course.id', '=', 'course_lecturer.course_id')
    .select(['course_lecturer.person_id as personId', 'course.id', 'course.slug', 'course.title'])
    .where('course.site_id', '=', siteId)
    .where('course_lecturer.person_id', 'in', personIds)
    .orderBy('course.slug')
    .execute()
  return Map.groupBy(rows, ({ personId }) => personId)
}

/** Lists the lecturers of each course, sorted by name, with one query. */
export async function listCourseLecturers(kysely: Kysely<Schema>, courseIds: readonly string[]) {
  const rows = await kysely
    .selectFrom('course_lecturer')
    .innerJoin('person', 'person.id', 'course_lecturer.person_id')
    .select(['course_lecturer.course_id as courseId', ...PERSON_FIELDS])
    .where('course_lecturer.course_id', 'in', courseIds)
    .orderBy('person.name')
    .orderBy('person.id')
    .execute()
  return Map.groupBy(rows, ({ courseId }) => courseId)
}

export interface Teaching {
  readonly courseId: string
  readonly personId: string
}

/**
 * Assigns a lecturer to a course. No-op if the lecturer is already assigned. Throws ChangeRefused for an unknown course
 * or member, for a member without the lecturer role, or if the course already has the maximum number of lecturers.
 */
export const assignLecturer = siteChange(
  async ({ trx, actor, record }, { courseId, personId }: Teaching) => {
    await courses.mustFind(trx, actor.siteId, courseId)
    const roles = await mustHaveRoles(trx, actor.siteId, personId)
    if (!roles.includes('lecturer')) {
      const message = 'the person is not a lecturer of the site; add the lecturer role first'
      throw conflict(message, 'personId')
    }
    const others = trx
      .selectFrom('course_lecturer')
      .where('course_id', '=', courseId)
      .where('person_id', '!=', personId)
    if ((await countRows(others)) >= LECTURERS_MAX) {
      throw limitReached(`a course can have up to ${LECTURERS_MAX} lecturers; remove one`)
    }
    const row = { course_id: courseId, person_id: personId }
    if (!(await insertNew(trx, 'course_lecturer', row))) return
    record('lecturer.assign', { kind: 'course', id: courseId }, { after: { lecturer: personId } })
  },
)

/** Removes a lecturer from a course. No-op if the person is not assigned. Throws ChangeRefused for an unknown course. */
export const unassignLecturer = siteChange(
  async ({ trx, actor, record }, { courseId, personId }: Teaching) => {
    await courses.mustFind(trx, actor.siteId, courseId)
    const { numDeletedRows } = await trx
      .deleteFrom('course_lecturer')
      .where('course_id', '=', courseId)
      .where('person_id', '=', personId)
      .executeTakeFirstOrThrow()
    if (numDeletedRows === 0n) return
    const subject = { kind: 'course', id: courseId }
    record('lecturer.unassign', subject, { before: { lecturer: personId } })
  },
)
