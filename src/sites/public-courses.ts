import { sql } from 'kysely'

import type { Database } from '../store/database.ts'
import { type PageRequest, readCountedPage } from '../store/keyset.ts'

/** What anybody may know of a course: what its page in the site's shop window says. */
export type PublishedCourse = Awaited<ReturnType<typeof listPublishedCourses>>['rows'][number]

/** The site of that slug as its visitors know it, or nothing. */
export async function findPublicSite({ kysely }: Database, slug: string) {
  return await kysely
    .selectFrom('site')
    .select(['id', 'slug', 'name'])
    .where('slug', '=', slug)
    .executeTakeFirst()
}

/** The published courses of a site, by slug. Two queries. */
export async function listPublishedCourses(
  { kysely }: Database,
  published: Published,
  page: PageRequest,
) {
  return await readCountedPage(
    publishedCourses(kysely, published),
    {
      by: 'course.slug',
      id: 'course.id',
      direction: 'asc',
      placeOf: ({ slug, id }) => [slug, id],
    },
    page,
  )
}

/** One published course with its lectures, or nothing. Two queries. */
export async function findPublishedCourse(
  { kysely }: Database,
  published: Published,
  slug: string,
) {
  const course = await publishedCourses(kysely, published)
    .where('course.slug', '=', slug)
    .executeTakeFirst()
  if (!course) return undefined
  const lectures = await kysely
    .selectFrom('lecture')
    .select(['title', 'duration_seconds as durationSeconds'])
    .where('course_id', '=', course.id)
    .orderBy('position')
    .limit(LECTURES_SHOWN_MAX)
    .execute()
  return { ...course, lectures }
}

/** A course of more lectures than this shows its first ones; `lectureCount` says how many exist. */
export const LECTURES_SHOWN_MAX = 500

interface Published {
  readonly siteId: string
  readonly nowMs: number
}

function publishedCourses(kysely: Database['kysely'], { siteId, nowMs }: Published) {
  return kysely
    .selectFrom('course')
    .select((eb) => [
      'course.id',
      'course.slug',
      'course.title',
      'course.summary',
      eb.ref('course.published_at').$notNull().as('publishedAt'),
      // One subquery in the select list of a page counts only what the page shows.
      sql<number>`(select count(*) from lecture where lecture.course_id = course.id)`.as(
        'lectureCount',
      ),
    ])
    .where('course.site_id', '=', siteId)
    .where('course.published_at', '<=', nowMs)
    .where('course.archived_at', 'is', null)
}
