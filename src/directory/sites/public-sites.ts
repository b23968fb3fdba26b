import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { orderBy, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { containsText } from '../../platform/store/search.ts'

interface SiteQuestion {
  /** Text that the name or title, the slug or the summary must contain, ignoring case. */
  readonly words?: string | undefined
  readonly nowMs: number
}

/** Lists the public sites of the platform, sorted by slug. */
export function listPublicSites(
  { kysely }: Pick<Database, 'kysely'>,
  { words, nowMs }: SiteQuestion,
) {
  const matching = kysely
    .selectFrom('site')
    .select(['site.id', 'site.slug', 'site.name', 'site.description', 'site.address'])
    .select(
      // A subquery in the select list runs only for the rows of the page.
      sql<number>`(select count(*) from course where course.site_id = site.id
      and course.published_at <= ${nowMs} and course.archived_at is null)`.as('courseCount'),
    )
    .where(hasPublished(nowMs))
    .$if(words !== undefined, (query) =>
      query.where(containsAny(['site.name', 'site.slug'], words)),
    )
  return pagedRows(matching, orderBy('slug', 'asc', 'site.slug', 'site.id'))
}

/** Builds the condition that at least one of the columns contains the words. */
function containsAny(columns: readonly string[], words = '') {
  const conditions = columns.map((column) => containsText(column, words))
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`
}

/** Matches public sites: at least one course, product, service or event is published and not archived. */
function hasPublished(nowMs: number) {
  const offers = ['course', 'digital_product', 'consulting_service', 'event'].map(
    (table) => sql`exists (select 1 from ${sql.table(table)} as offer
      where offer.site_id = site.id and offer.published_at <= ${nowMs}
      ${table === 'consulting_service' ? sql`` : sql`and offer.archived_at is null`})`,
  )
  return sql<boolean>`(${sql.join(offers, sql` or `)})`
}

export type PublishedCourse = Awaited<
  ReturnType<ReturnType<typeof publishedCourses>['executeTakeFirstOrThrow']>
>

export type PublicCourses = ReturnType<typeof makePublicCourses>

interface Published extends Pick<SiteQuestion, 'nowMs'> {
  readonly siteId: string
}

/** The maximum number of lectures that `findCourse` returns. `lectureCount` counts all lectures. */
export const LECTURES_SHOWN_MAX = 500

/** Creates the queries that find sites, and the published courses of a site. */
export function makePublicCourses({ kysely }: Database) {
  const findSiteBy = async (column: 'id' | 'slug', value: string) =>
    await kysely
      .selectFrom('site')
      .select(['id', 'slug', 'name'])
      .where(column, '=', value)
      .executeTakeFirst()
  return {
    listSites: (question: SiteQuestion) => listPublicSites({ kysely }, question),
    findSite: async (slug: string) => await findSiteBy('slug', slug),
    findSiteById: async (id: string) => await findSiteBy('id', id),

    /** Lists a site's published courses, sorted by slug. */
    list({ words, ...published }: SiteQuestion & Published) {
      const courses = publishedCourses(kysely, published).$if(words !== undefined, (query) =>
        query.where(containsAny(['course.title', 'course.slug', 'course.summary'], words)),
      )
      return pagedRows(courses, orderBy('slug', 'asc', 'course.slug', 'course.id'))
    },

    /** Finds a published course by slug, with its first `LECTURES_SHOWN_MAX` lectures. */
    async findCourse(published: Published, slug: string) {
      const courses = publishedCourses(kysely, published)
      const found = await courses.where('course.slug', '=', slug).executeTakeFirst()
      if (!found) return undefined
      const lectures = await kysely
        .selectFrom('lecture')
        .select(['title', 'duration_seconds as durationSeconds'])
        .where('course_id', '=', found.id)
        .orderBy('position')
        .limit(LECTURES_SHOWN_MAX)
        .execute()
      return { ...found, lectures }
    },
  }
}

function publishedCourses(kysely: Kysely<Schema>, { siteId, nowMs }: Published) {
  return kysely
    .selectFrom('course')
    .select((eb) => [
      'course.id',
      'course.slug',
      'course.title',
      'course.summary',
      eb.ref('course.published_at').$notNull().as('publishedAt'),
      // A subquery in the select list runs only for the rows of the page.
      sql<number>`(select count(*) from lecture where lecture.course_id = course.id)`.as(
        'lectureCount',
      ),
    ])
    .where('course.site_id', '=', siteId)
    .where('course.published_at', '<=', nowMs)
    .where('course.archived_at', 'is', null)
}
