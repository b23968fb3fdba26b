import { type Kysely, type RawBuilder, sql } from 'kysely'

import { compiled, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import { orderBy, type PagedRows, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { containsText } from '../../platform/store/search.ts'

interface SiteQuestion {
  /** Text that the name or slug must contain, ignoring case. */
  readonly words: string | undefined
  readonly nowMs: number
}

/** Lists the public sites of the platform, sorted by slug. */
export function listPublicSites(
  { kysely }: Pick<Database, 'kysely'>,
  { words, nowMs }: SiteQuestion,
) {
  const matching = sites(kysely, nowMs).$if(words !== undefined, (query) =>
    query.where(
      sql<boolean>`(${containsText('site.name', words ?? '')} or ${containsText('site.slug', words ?? '')})`,
    ),
  )
  return pagedRows(matching, orderBy('slug', 'asc', 'site.slug', 'site.id'))
}

/** A character that sorts after every character of a slug. */
const AFTER_SLUGS = '~'

/** Matches public sites: at least one course, product, service or event is published and not archived. */
function hasPublished(nowMs: number | RawBuilder<number>) {
  const offers = ['course', 'digital_product', 'consulting_service', 'event'].map(
    (table) => sql`exists (select 1 from ${sql.table(table)} as offer
      where offer.site_id = site.id and offer.published_at <= ${nowMs}
      ${table === 'consulting_service' ? sql`` : sql`and offer.archived_at is null`})`,
  )
  return sql<boolean>`(${sql.join(offers, sql` or `)})`
}

function sites(kysely: Kysely<Schema>, nowMs: number) {
  return kysely
    .selectFrom('site')
    .where(hasPublished(nowMs))
    .select(['site.id', 'site.slug', 'site.name', 'site.description', 'site.address'])
    .select(
      // A subquery in the select list runs only for the rows of the page.
      sql<number>`(select count(*) from course where course.site_id = site.id
      and course.published_at <= ${nowMs} and course.archived_at is null)`.as('courseCount'),
    )
}

export type PublishedCourse = Awaited<
  ReturnType<ReturnType<typeof publishedCourses>['executeTakeFirstOrThrow']>
>

export type PublicCourses = ReturnType<typeof makePublicCourses>

interface Published {
  readonly siteId: string
  readonly nowMs: number
}

interface PublishedQuestion extends Published {
  /** Text that the title, slug or summary must contain, ignoring case. */
  readonly words?: string | undefined
}

/** The maximum number of lectures that `findCourse` returns. `lectureCount` counts all lectures. */
export const LECTURES_SHOWN_MAX = 500

/** Creates the queries for sites and their published courses. */
export function makePublicCourses({ kysely }: Database) {
  const findSiteBy = (column: 'id' | 'slug') => {
    const find = compiled(kysely, (value: Valued<{ key: string }>) =>
      kysely.selectFrom('site').select(['id', 'slug', 'name']).where(column, '=', value('key')),
    )
    return async (key: string) => (await find({ key })).rows[0]
  }
  const count = compiled(kysely, (value: Valued<Published>) =>
    publishedCourses(kysely, value).clearSelect().select(sql<number>`count(*)`.as('total')),
  )
  const page = compiled(
    kysely,
    (value: Valued<Published & { limit: number; slug: string | number; id: string }>) =>
      publishedCourses(kysely, value)
        .where(sql<boolean>`(course.slug, course.id) > (${value('slug')}, ${value('id')})`)
        .orderBy('course.slug')
        .orderBy('course.id')
        .limit(value('limit')),
  )
  const course = compiled(kysely, (value: Valued<Published & { slug: string }>) =>
    publishedCourses(kysely, value).where('course.slug', '=', value('slug')),
  )
  return {
    siteSlugsStartingWith: makeSlugsStartingWith(kysely),
    listSites: (question: SiteQuestion) => listPublicSites({ kysely }, question),
    findSite: findSiteBy('slug'),
    findSiteById: findSiteBy('id'),

    /** Lists a site's published courses, sorted by slug. */
    list({ words, ...published }: PublishedQuestion): PagedRows<PublishedCourse> {
      if (words !== undefined) return searchCourses(kysely, published, words)
      return {
        async page({ first, after: [slug, id] = ['', ''] }) {
          // The extra row shows whether another page follows.
          const { rows: found } = await page({ ...published, limit: first + 1, slug, id })
          const rows = found.slice(0, first)
          const places = rows.map((row) => [row.slug, row.id] as const)
          return { rows, places, hasNextPage: found.length > first }
        },
        count: async () => Number((await count(published)).rows[0]?.total),
      }
    },

    /** Finds a published course by slug, with its first `LECTURES_SHOWN_MAX` lectures. */
    async findCourse(published: Published, slug: string) {
      const [found] = (await course({ ...published, slug })).rows
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

/** Creates the query that lists, in order, at most `limit` slugs of public sites with the prefix `start`. */
function makeSlugsStartingWith(kysely: Kysely<Schema>) {
  const beginning = compiled(
    kysely,
    (value: Valued<{ from: string; until: string; limit: number; nowMs: number }>) =>
      kysely
        .selectFrom('site')
        .select('slug')
        .where('slug', '>=', value('from'))
        .where('slug', '<', value('until'))
        .where(hasPublished(value('nowMs')))
        .orderBy('slug')
        .limit(value('limit')),
  )
  return async (start: string, limit: number, nowMs: number): Promise<string[]> => {
    const { rows } = await beginning({ from: start, until: `${start}${AFTER_SLUGS}`, limit, nowMs })
    return rows.map(({ slug }) => slug)
  }
}

function searchCourses(kysely: Kysely<Schema>, published: Published, words: string) {
  const columns = ['course.title', 'course.slug', 'course.summary']
  const matches = columns.map((column) => containsText(column, words))
  const found = publishedCourses(kysely, (name) => published[name]).where(
    sql<boolean>`(${sql.join(matches, sql` or `)})`,
  )
  return pagedRows(found, orderBy('slug', 'asc', 'course.slug', 'course.id'))
}

function publishedCourses(kysely: Kysely<Schema>, value: Valued<Published>) {
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
    .where('course.site_id', '=', value('siteId'))
    .where('course.published_at', '<=', value('nowMs'))
    .where('course.archived_at', 'is', null)
}
