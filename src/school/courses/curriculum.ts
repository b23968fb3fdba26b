import type { Kysely, Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import { arrange, type Place } from './order.ts'

/**
 * What a course is made of: sections, and lectures in them or before the first one. Every lecture has
 * its place in the whole course, so that whoever knows no sections reads them in the right order.
 */

export const SECTIONS_PER_COURSE_MAX = 200
export const LECTURES_PER_COURSE_MAX = 1000
/** A day. */
export const LECTURE_SECONDS_MAX = 86_400

export type Section = Awaited<ReturnType<typeof listSections>>[number]
export type Lecture = Awaited<ReturnType<typeof listLectures>>[number]

/** The sections of courses, each course's in their order. One query. */
export async function listSections(kysely: Kysely<Schema>, courseIds: readonly string[]) {
  return await kysely
    .selectFrom('section')
    .select(['id', 'course_id as courseId', 'position', 'title', 'created_at as createdAt'])
    .where('course_id', 'in', courseIds)
    .orderBy('course_id')
    .orderBy('position')
    .execute()
}

/** The lectures of courses, or of sections, each one's in their order. One query. */
export async function listLectures(
  kysely: Kysely<Schema>,
  ids: readonly string[],
  whose: 'course' | 'section' = 'course',
) {
  const column = whose === 'course' ? 'course_id' : 'section_id'
  return await lectures(kysely)
    .where(column, 'in', ids)
    .orderBy(column)
    .orderBy('position')
    .execute()
}

/** One lecture of the site, or nothing. */
export async function findLecture(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await lectures(kysely)
    .where('id', '=', id)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('course')
          .select('course.id')
          .whereRef('course.id', '=', 'lecture.course_id')
          .where('course.site_id', '=', siteId),
      ),
    )
    .executeTakeFirst()
}

/** One section of the site, or nothing. */
export async function findSection(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await kysely
    .selectFrom('section')
    .innerJoin('course', 'course.id', 'section.course_id')
    .select([
      'section.id',
      'section.course_id as courseId',
      'section.position',
      'section.title',
      'section.created_at as createdAt',
    ])
    .where('section.id', '=', id)
    .where('course.site_id', '=', siteId)
    .executeTakeFirst()
}

function lectures(kysely: Kysely<Schema>) {
  return kysely
    .selectFrom('lecture')
    .select([
      'id',
      'course_id as courseId',
      'section_id as sectionId',
      'position',
      'title',
      'duration_seconds as durationSeconds',
    ])
}

/** All rows but one. */
export function others<Row extends { readonly id: string }>(
  rows: readonly Row[],
  id: string,
): Row[] {
  return rows.filter((row) => row.id !== id)
}

/** A number among rows: one beyond their end is the last. */
export function within(position: number | undefined, rows: readonly unknown[]): number | undefined {
  return position === undefined ? undefined : Math.min(position, rows.length)
}

/** Gives sections and lectures of a course their numbers, in the order that is given or that they have. */
export async function arrangeCourse(
  trx: Transaction<Schema>,
  courseId: string,
  wanted: {
    readonly sections?: readonly Place[]
    readonly lectures?: readonly (Place & { sectionId: string | null })[]
  },
): Promise<void> {
  const sections = wanted.sections ?? (await listSections(trx, [courseId]))
  const all = wanted.lectures ?? (await listLectures(trx, [courseId]))
  const lectureOrder = [null, ...sections.map(({ id }) => id)].flatMap((section) =>
    all.filter(({ sectionId }) => sectionId === section),
  )
  await arrange(trx, 'section', sections)
  await arrange(trx, 'lecture', lectureOrder)
}
