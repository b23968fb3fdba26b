import type { Kysely } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { countRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, type SiteActor } from '../changes/change.ts'
import { conflict, limitReached, notFound } from '../changes/refusals.ts'
import { courses } from '../courses/course-store.ts'
import { rolesOf } from './site-roles.ts'

const LECTURERS_PER_COURSE_MAX = 100

/** The courses of the site that people teach, each person's by slug. One query. */
export async function listTaughtCourses(
  kysely: Kysely<Schema>,
  personIds: readonly string[],
  siteId: string,
) {
  const rows = await kysely
    .selectFrom('course_lecturer')
    // Not a plain join, or SQLite may begin with all courses of the site.
    .crossJoin('course')
    .whereRef('course.id', '=', 'course_lecturer.course_id')
    .select(['course_lecturer.person_id as personId', 'course.id', 'course.slug', 'course.title'])
    .where('course.site_id', '=', siteId)
    .where('course_lecturer.person_id', 'in', personIds)
    .orderBy('course.slug')
    .execute()
  return Map.groupBy(rows, ({ personId }) => personId)
}

/** Who teaches courses, each course's by name. One query. */
export async function listCourseLecturers(kysely: Kysely<Schema>, courseIds: readonly string[]) {
  const rows = await kysely
    .selectFrom('course_lecturer')
    .innerJoin('person', 'person.id', 'course_lecturer.person_id')
    .select([
      'course_lecturer.course_id as courseId',
      'person.id',
      'person.name',
      'person.email',
      'person.picture',
    ])
    .where('course_lecturer.course_id', 'in', courseIds)
    .orderBy('person.name')
    .orderBy('person.id')
    .execute()
  return Map.groupBy(rows, ({ courseId }) => courseId)
}

/** Who is to teach, and what. */
export interface Teaching {
  readonly courseId: string
  readonly personId: string
}

/**
 * Lets a person teach a course. Who does so already is no change.
 *
 * @throws ChangeRefused for a course or a person of another site, and for one who is no lecturer there
 */
export async function assignLecturer(
  database: Database,
  actor: SiteActor,
  { courseId, personId }: Teaching,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    await courses.mustFind(trx, actor.siteId, courseId)
    const roles = await rolesOf(trx, actor.siteId, personId)
    if (roles.length === 0) throw notFound('member')
    if (!roles.includes('lecturer')) {
      throw conflict('the person is no lecturer of the site; give them the role first', 'personId')
    }
    const others = trx
      .selectFrom('course_lecturer')
      .where('course_id', '=', courseId)
      .where('person_id', '!=', personId)
    if ((await countRows(others)) >= LECTURERS_PER_COURSE_MAX) {
      throw limitReached(`a course has at most ${LECTURERS_PER_COURSE_MAX} lecturers`)
    }
    const made = await trx
      .insertInto('course_lecturer')
      .values({ course_id: courseId, person_id: personId })
      .onConflict((known) => known.doNothing())
      .returning('person_id')
      .executeTakeFirst()
    if (!made) return
    const subject = { kind: 'course', id: courseId }
    await record({ action: 'lecturer.assign', subject, after: { lecturer: personId } })
  })
}

/** Lets a person teach a course no more. Who does not teach it is no change. */
export async function unassignLecturer(
  database: Database,
  actor: SiteActor,
  { courseId, personId }: Teaching,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    await courses.mustFind(trx, actor.siteId, courseId)
    const { numDeletedRows } = await trx
      .deleteFrom('course_lecturer')
      .where('course_id', '=', courseId)
      .where('person_id', '=', personId)
      .executeTakeFirstOrThrow()
    if (numDeletedRows === 0n) return
    const subject = { kind: 'course', id: courseId }
    await record({ action: 'lecturer.unassign', subject, before: { lecturer: personId } })
  })
}
