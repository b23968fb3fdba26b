import { type Kysely, sql, type Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/**
 * What a course is made of: sections, and lectures in them or before the first one. Every lecture has
 * its place in the whole course, so that whoever knows no sections reads them in the right order.
 */

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

/** A row that has a number among others, from 1. */
interface Place {
  readonly id: string
  readonly position: number
}

/** Puts a row among others at a number, or at their end. */
export function placeAmong<Row extends Place>(
  others: readonly Row[],
  row: Row,
  position: number | undefined,
): Row[] {
  const at = position === undefined ? others.length : Math.min(position - 1, others.length)
  return [...others.slice(0, at), row, ...others.slice(at)]
}

/**
 * Numbers the rows in the order given. Only what changes is written: first as negative numbers,
 * because on the way no two rows of a course may have the same one.
 */
async function arrange(
  trx: Transaction<Schema>,
  table: 'section' | 'lecture',
  ordered: readonly Place[],
): Promise<void> {
  const moved = ordered
    .map(({ id, position }, index) => ({ id, from: position, to: index + 1 }))
    .filter(({ from, to }) => from !== to)
  if (moved.length === 0) return
  const cases = moved.map(({ id, to }) => sql`when ${id} then ${sql.lit(-to)}`)
  const ids = moved.map(({ id }) => sql`${id}`)
  const whose = sql`where id in (${sql.join(ids)})`
  await sql`update ${sql.table(table)}
    set position = case id ${sql.join(cases, sql` `)} end ${whose}`.execute(trx)
  await sql`update ${sql.table(table)} set position = -position ${whose}`.execute(trx)
}
