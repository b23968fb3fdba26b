/** The courses of a site with their sections and lectures, as its operators keep them. Who bought one is in students. */

import { type Kysely, sql } from 'kysely'
import { z } from 'zod'

import type { SiteActor } from '../changes/change.ts'
import {
  given,
  idempotencyKey,
  line,
  readInput,
  SUMMARY_LENGTH_MAX,
  slug,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/fields.ts'
import { type ItemFilter, itemMatches, itemOrders } from '../changes/item-lists.ts'
import type { ReleaseChange } from '../changes/release.ts'
import { type ItemKey, releasedItems } from '../changes/released-items.ts'
import type { Database } from '../store/database.ts'
import { countRows, type PageRequest, readPage } from '../store/keyset.ts'
import type { Schema } from '../store/schema.ts'

export interface CourseQuestion extends ItemFilter {
  readonly siteId: string
  readonly sort?: CourseSort | null | undefined
}

export type CourseSort = keyof typeof orders

export type Course = NonNullable<Awaited<ReturnType<typeof findCourse>>>

const orders = itemOrders('course')

/** One page of the courses of a site, and how many there are, each in one query. */
export function listCourses({ kysely }: Database, question: CourseQuestion) {
  const found = coursesOf(kysely, question.siteId).where(itemMatches('course', question))
  return {
    page: async (request: PageRequest) =>
      await readPage(found, orders[question.sort ?? 'SLUG'], request),
    count: async () => await countRows(found),
  }
}

/** One course of a site by its id or its slug, or nothing. One query. */
export async function findCourse(kysely: Kysely<Schema>, siteId: string, by: ItemKey) {
  const query = coursesOf(kysely, siteId)
  return await ('id' in by
    ? query.where('course.id', '=', by.id)
    : query.where('course.slug', '=', by.slug)
  ).executeTakeFirst()
}

function coursesOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('course')
    .select([
      'course.id',
      'course.slug',
      'course.title',
      'course.summary',
      'course.published_at as publishedAt',
      'course.archived_at as archivedAt',
      'course.created_at as createdAt',
    ])
    .where('course.site_id', '=', siteId)
}

/** How many lectures, or enrolments, each course has; one that is not there has none. One query. */
export async function countOf(
  kysely: Kysely<Schema>,
  table: 'lecture' | 'course_purchase',
  courseIds: readonly string[],
): Promise<Map<string, number>> {
  const counted = await kysely
    .selectFrom(table)
    .select(['course_id', sql<number>`count(*)`.as('total')])
    .where('course_id', 'in', courseIds)
    .groupBy('course_id')
    .execute()
  return new Map(counted.map(({ course_id, total }) => [course_id, Number(total)]))
}

const courses = releasedItems<z.output<typeof form>, Course>({
  table: 'course',
  noun: 'course',
  prefix: 'crs',
  find: findCourse,
})

/** @throws ChangeRefused when the site has no such course */
export const mustFindCourse: typeof courses.mustFind = courses.mustFind

const form = z.strictObject({
  slug,
  title: line(TITLE_LENGTH_MAX),
  summary: text(SUMMARY_LENGTH_MAX),
})
const creation = form.extend({ idempotencyKey })
const changes = form.partial()

export type CourseCreation = z.input<typeof creation>
export type CourseChanges = z.input<typeof changes>

/**
 * Makes a course, which is a draft.
 *
 * @returns its id
 * @throws ChangeRefused for a value without its form, a slug that is taken, and at the limit
 */
export async function createCourse(
  database: Database,
  actor: SiteActor,
  input: CourseCreation,
): Promise<string> {
  const { idempotencyKey: key, ...fields } = readInput(creation, input)
  const wish = { action: 'course.create', fields, idempotencyKey: key } as const
  return await courses.create(database, actor, wish)
}

/** Changes what is given of a course. What is so already is no change. */
export async function updateCourse(
  database: Database,
  actor: SiteActor,
  { id, ...input }: CourseChanges & { readonly id: string },
): Promise<void> {
  const wanted = given(readInput(changes, input))
  await courses.update(database, actor, { action: 'course.update', id, wanted })
}

const releases = {
  publish: { action: 'course.publish' },
  unpublish: { action: 'course.unpublish' },
  archive: { action: 'course.archive' },
  restore: { action: 'course.restore' },
} as const

/** Publishes a course now or at a time, takes it back, puts it away, or brings it back. */
export async function releaseCourse(
  database: Database,
  actor: SiteActor,
  { id, change }: { readonly id: string; readonly change: ReleaseChange },
): Promise<void> {
  await courses.release(database, actor, { ...releases[change.kind], id, change })
}
