import { sql } from 'kysely'

import type { Database } from '../store/database.ts'
import {
  type CountedPage,
  type ListOrder,
  type PageRequest,
  readCountedPage,
} from '../store/keyset.ts'

/**
 * What a site offers, as its operator sees it: drafts too. Every question names the site, so that an
 * id or slug of another site finds nothing. Lists take two queries, however long the page.
 */
export interface OperatorCourse {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  /** Null for a draft. */
  readonly publishedAt: number | null
  readonly createdAt: number
  readonly lectureCount: number
  readonly buyerCount: number
}

export interface OperatorLecture {
  readonly id: string
  readonly position: number
  readonly title: string
  readonly durationSeconds: number
}

export interface OperatorDigitalProduct {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  readonly fileName: string
  readonly publishedAt: number | null
  readonly createdAt: number
  readonly buyerCount: number
}

export interface OperatorEvent {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  /** Null while no place is settled. */
  readonly location: string | null
  readonly startsAt: number
  readonly endsAt: number
  readonly publishedAt: number | null
  readonly createdAt: number
  /** Registrations that were not cancelled. */
  readonly registrationCount: number
}

const bySlug = (table: string): ListOrder<{ readonly slug: string; readonly id: string }> => ({
  by: `${table}.slug`,
  id: `${table}.id`,
  direction: 'asc',
  placeOf: ({ slug, id }) => [slug, id],
})

export async function listCourses(
  database: Database,
  siteId: string,
  page: PageRequest,
): Promise<CountedPage<OperatorCourse>> {
  return await readCountedPage(courses(database, siteId), bySlug('course'), page)
}

export async function findCourse(
  database: Database,
  siteId: string,
  slug: string,
): Promise<OperatorCourse | undefined> {
  return await courses(database, siteId).where('course.slug', '=', slug).executeTakeFirst()
}

const lecturesByPosition: ListOrder<OperatorLecture> = {
  by: 'lecture.position',
  id: 'lecture.id',
  direction: 'asc',
  placeOf: ({ position, id }) => [position, id],
}

/** The lectures of one course of the site, in their order; nothing when the course is not its. */
export async function listLectures(
  database: Database,
  { siteId, courseSlug }: { siteId: string; courseSlug: string },
  page: PageRequest,
): Promise<CountedPage<OperatorLecture> | undefined> {
  const course = await findCourse(database, siteId, courseSlug)
  if (!course) return undefined
  const inCourse = lectures(database, siteId).where('lecture.course_id', '=', course.id)
  return await readCountedPage(inCourse, lecturesByPosition, page)
}

/** One lecture, with the course that it belongs to. */
export async function findLecture(
  database: Database,
  siteId: string,
  lectureId: string,
): Promise<(OperatorLecture & { courseSlug: string }) | undefined> {
  return await lectures(database, siteId)
    .select('course.slug as courseSlug')
    .where('lecture.id', '=', lectureId)
    .executeTakeFirst()
}

export async function listDigitalProducts(
  database: Database,
  siteId: string,
  page: PageRequest,
): Promise<CountedPage<OperatorDigitalProduct>> {
  return await readCountedPage(digitalProducts(database, siteId), bySlug('digital_product'), page)
}

export async function findDigitalProduct(
  database: Database,
  siteId: string,
  slug: string,
): Promise<OperatorDigitalProduct | undefined> {
  return await digitalProducts(database, siteId)
    .where('digital_product.slug', '=', slug)
    .executeTakeFirst()
}

const eventsByStart: ListOrder<OperatorEvent> = {
  by: 'event.starts_at',
  id: 'event.id',
  direction: 'asc',
  placeOf: ({ startsAt, id }) => [startsAt, id],
}

export async function listEvents(
  database: Database,
  siteId: string,
  page: PageRequest,
): Promise<CountedPage<OperatorEvent>> {
  return await readCountedPage(events(database, siteId), eventsByStart, page)
}

export async function findEvent(
  database: Database,
  siteId: string,
  slug: string,
): Promise<OperatorEvent | undefined> {
  return await events(database, siteId).where('event.slug', '=', slug).executeTakeFirst()
}

function courses({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('course')
    .select([
      'course.id',
      'course.slug',
      'course.title',
      'course.summary',
      'course.published_at as publishedAt',
      'course.created_at as createdAt',
      sql<number>`(select count(*) from lecture where course_id = course.id)`.as('lectureCount'),
      sql<number>`(select count(*) from course_purchase where course_id = course.id)`.as(
        'buyerCount',
      ),
    ])
    .where('course.site_id', '=', siteId)
}

function lectures({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('lecture')
    .innerJoin('course', 'course.id', 'lecture.course_id')
    .select([
      'lecture.id',
      'lecture.position',
      'lecture.title',
      'lecture.duration_seconds as durationSeconds',
    ])
    .where('course.site_id', '=', siteId)
}

function digitalProducts({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('digital_product')
    .select([
      'digital_product.id',
      'digital_product.slug',
      'digital_product.title',
      'digital_product.summary',
      'digital_product.file_name as fileName',
      'digital_product.published_at as publishedAt',
      'digital_product.created_at as createdAt',
      sql<number>`(select count(*) from digital_product_purchase
        where digital_product_id = digital_product.id)`.as('buyerCount'),
    ])
    .where('digital_product.site_id', '=', siteId)
}

function events({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('event')
    .select([
      'event.id',
      'event.slug',
      'event.title',
      'event.summary',
      'event.location',
      'event.starts_at as startsAt',
      'event.ends_at as endsAt',
      'event.published_at as publishedAt',
      'event.created_at as createdAt',
      sql<number>`(select count(*) from event_registration
        where event_id = event.id and cancelled_at is null)`.as('registrationCount'),
    ])
    .where('event.site_id', '=', siteId)
}
