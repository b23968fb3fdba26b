/** The courses of a site with their sections and lectures, as its operators keep them. Who bought one is in students. */

import { type Kysely, sql } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { countRows, type PageRequest, readPage } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import {
  idempotencyKey,
  line,
  pageAddress,
  SUMMARY_LENGTH_MAX,
  slug,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/fields.ts'
import { type ItemFilter, itemMatches, itemOrders } from '../changes/item-lists.ts'
import { type ItemKey, releasedItems } from '../changes/released-items.ts'

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
      'course.url',
      'course.image_url as imageUrl',
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

const form = z.strictObject({
  slug,
  title: line(TITLE_LENGTH_MAX),
  summary: text(SUMMARY_LENGTH_MAX),
  url: pageAddress.nullable(),
  imageUrl: pageAddress.nullable(),
})
const creation = form.extend({
  url: form.shape.url.default(null),
  imageUrl: form.shape.imageUrl.default(null),
  idempotencyKey,
})
const changes = form.partial()

type CourseFields = z.output<typeof form>
export type CourseCreation = z.input<typeof creation>
export type CourseChanges = z.input<typeof changes>

const courses = releasedItems<CourseFields, Course, CourseCreation, CourseChanges>({
  table: 'course',
  noun: 'course',
  prefix: 'crs',
  find: findCourse,
  creation,
  changes,
  actions: {
    create: { action: 'course.create' },
    update: { action: 'course.update' },
    publish: { action: 'course.publish' },
    unpublish: { action: 'course.unpublish' },
    archive: { action: 'course.archive' },
    restore: { action: 'course.restore' },
  },
})

/** @throws ChangeRefused when the site has no such course */
export const mustFindCourse: typeof courses.mustFind = courses.mustFind
export const createCourse: typeof courses.create = courses.create
export const updateCourse: typeof courses.update = courses.update
export const releaseCourse: typeof courses.release = courses.release
