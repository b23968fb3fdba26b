import { sql } from 'kysely'

import type { Database } from '../store/database.ts'
import {
  type CountedPage,
  type ListOrder,
  type PageRequest,
  readCountedPage,
} from '../store/keyset.ts'

/** What anybody may know of a course: what its page in the site's shop window says. */
export interface PublishedCourse {
  readonly slug: string
  readonly title: string
  readonly summary: string
  readonly publishedAt: number
  readonly lectureCount: number
}

export interface PublishedLecture {
  readonly title: string
  readonly durationSeconds: number
}

/** A site as everybody knows it. */
export interface PublicSite {
  readonly id: string
  readonly slug: string
  readonly name: string
}

/** The site of that slug, or nothing. */
export async function findPublicSite(
  { kysely }: Database,
  slug: string,
): Promise<PublicSite | undefined> {
  return await kysely
    .selectFrom('site')
    .select(['id', 'slug', 'name'])
    .where('slug', '=', slug)
    .executeTakeFirst()
}

const bySlug: ListOrder<CourseRow> = {
  by: 'course.slug',
  id: 'course.id',
  direction: 'asc',
  placeOf: ({ slug, id }) => [slug, id],
}

/** The published courses of a site, by slug. Two queries. */
export async function listPublishedCourses(
  database: Database,
  { siteId, nowMs }: { siteId: string; nowMs: number },
  page: PageRequest,
): Promise<CountedPage<PublishedCourse>> {
  const courses = publishedCourses(database, siteId, nowMs).select(courseColumns)
  const found = await readCountedPage(courses, bySlug, page)
  return { ...found, rows: found.rows.map(courseOf) }
}

/** One published course with its lectures, or nothing. Two queries. */
export async function findPublishedCourse(
  database: Database,
  { siteId, nowMs }: { siteId: string; nowMs: number },
  slug: string,
): Promise<(PublishedCourse & { lectures: readonly PublishedLecture[] }) | undefined> {
  const row = await publishedCourses(database, siteId, nowMs)
    .select(courseColumns)
    .where('course.slug', '=', slug)
    .executeTakeFirst()
  if (!row) return undefined
  const lectures = await database.kysely
    .selectFrom('lecture')
    .select(['title', 'duration_seconds as durationSeconds'])
    .where('course_id', '=', row.id)
    .orderBy('position')
    .limit(LECTURES_SHOWN_MAX)
    .execute()
  return { ...courseOf(row), lectures }
}

/** A course of more lectures than this shows its first ones; `lectureCount` says how many exist. */
export const LECTURES_SHOWN_MAX = 500

function publishedCourses({ kysely }: Database, siteId: string, nowMs: number) {
  return kysely
    .selectFrom('course')
    .where('course.site_id', '=', siteId)
    .where('course.published_at', '<=', nowMs)
}

const courseColumns = [
  'course.id',
  'course.slug',
  'course.title',
  'course.summary',
  'course.published_at',
  // One subquery in the select list of a page counts only what the page shows.
  sql<number>`(select count(*) from lecture where lecture.course_id = course.id)`.as(
    'lectureCount',
  ),
] as const

type CourseRow = {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  readonly published_at: number | null
  readonly lectureCount: number
}

function courseOf({
  slug,
  title,
  summary,
  published_at,
  lectureCount,
}: CourseRow): PublishedCourse {
  return { slug, title, summary, publishedAt: published_at ?? 0, lectureCount }
}
