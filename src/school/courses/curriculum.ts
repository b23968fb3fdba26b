import { type Kysely, sql, type Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/**
 * The sections and lectures of a course. A lecture is in a section, or before the first section. Lectures are numbered
 * across the whole course, so clients that ignore sections still show them in order.
 */

export type Lecture = Awaited<ReturnType<typeof listLectures>>[number]

/** Lists the sections of courses in order, with one query. */
export async function listSections(kysely: Kysely<Schema>, courseIds: readonly string[]) {
  return await sections(kysely)
    .where('section.course_id', 'in', courseIds)
    .orderBy('section.course_id')
    .orderBy('section.position')
    .execute()
}

/** Lists the lectures of courses or sections in order, with one query. */
export async function listLectures(
  kysely: Kysely<Schema>,
  ids: readonly string[],
  parent: 'course' | 'section' = 'course',
) {
  const column = parent === 'course' ? 'lecture.course_id' : 'lecture.section_id'
  return await lectures(kysely)
    .where(column, 'in', ids)
    .orderBy(column)
    .orderBy('lecture.position')
    .execute()
}

export async function findLecture(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await lectures(kysely)
    .innerJoin('course', 'course.id', 'lecture.course_id')
    .where('lecture.id', '=', id)
    .where('course.site_id', '=', siteId)
    .executeTakeFirst()
}

export async function findSection(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await sections(kysely)
    .innerJoin('course', 'course.id', 'section.course_id')
    .where('section.id', '=', id)
    .where('course.site_id', '=', siteId)
    .executeTakeFirst()
}

function sections(kysely: Kysely<Schema>) {
  return kysely
    .selectFrom('section')
    .select(['section.id', 'section.course_id as courseId', 'section.position'])
    .select(['section.title', 'section.created_at as createdAt'])
}

function lectures(kysely: Kysely<Schema>) {
  return kysely
    .selectFrom('lecture')
    .select(['lecture.id', 'lecture.course_id as courseId', 'lecture.section_id as sectionId'])
    .select(['lecture.position', 'lecture.title', 'lecture.duration_seconds as durationSeconds'])
}

/** Stores the positions of a course's sections and lectures, in the given order or, by default, the current order. */
export async function arrangeCourse(
  trx: Transaction<Schema>,
  courseId: string,
  wanted: {
    readonly sections?: readonly Place[]
    readonly lectures?: readonly (Place & { sectionId: string | null })[]
  },
): Promise<void> {
  const ordered = wanted.sections ?? (await listSections(trx, [courseId]))
  const all = wanted.lectures ?? (await listLectures(trx, [courseId]))
  const lectureOrder = [null, ...ordered.map(({ id }) => id)].flatMap((section) =>
    all.filter(({ sectionId }) => sectionId === section),
  )
  await arrange(trx, 'section', ordered)
  await arrange(trx, 'lecture', lectureOrder)
}

/** A row with its position. The first position is 1. */
interface Place {
  readonly id: string
  readonly position: number
}

/** Returns `others` with `row` inserted at a position or, by default, at the end. */
export function placeAmong<Row extends Place>(
  others: readonly Row[],
  row: Row,
  position: number | undefined,
): Row[] {
  const at = position === undefined ? others.length : Math.min(position - 1, others.length)
  return [...others.slice(0, at), row, ...others.slice(at)]
}

/** Stores the rows' new positions. Writes negative numbers first, because other rows may still have these positions. */
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
  const isMoved = sql`where id in (${sql.join(ids)})`
  await sql`update ${sql.table(table)}
    set position = case id ${sql.join(cases, sql` `)} end ${isMoved}`.execute(trx)
  await sql`update ${sql.table(table)} set position = -position ${isMoved}`.execute(trx)
}
