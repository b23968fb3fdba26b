import { type Kysely, sql } from 'kysely'

import { compiled, type Valued } from '../../platform/store/compiled.ts'
import type { Database } from '../../platform/store/database.ts'
import { type CountedPage, type PageRequest, readCountedPage } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { holdsWords } from '../../platform/store/search.ts'

/** The sites of the platform, as visitors know them. */
export type PublicSites = ReturnType<typeof makePublicSites>

interface SiteQuestion {
  /** Only sites with these words in name or slug, in any case of letters. */
  readonly words: string | undefined
  readonly nowMs: number
}

/** Made once: unauthenticated callers may ask, so that a question has to cost little. */
export function makePublicSites({ kysely }: Database) {
  const beginning = compiled(
    kysely,
    (value: Valued<{ from: string; until: string; limit: number }>) =>
      kysely
        .selectFrom('site')
        .select('slug')
        .where('slug', '>=', value('from'))
        .where('slug', '<', value('until'))
        .orderBy('slug')
        .limit(value('limit')),
  )
  return {
    /** Sites, by slug. Two queries at the same time. */
    list: async ({ words, nowMs }: SiteQuestion, request: PageRequest) =>
      await readCountedPage(
        sites(kysely, nowMs).$if(words !== undefined, (query) =>
          query.where(
            sql<boolean>`(${holdsWords('site.name', words ?? '')} or ${holdsWords('site.slug', words ?? '')})`,
          ),
        ),
        {
          by: 'site.slug',
          id: 'site.id',
          direction: 'asc',
          placeOf: ({ slug, id }) => [slug, id],
        },
        request,
      ),

    /** The first slugs that begin like this, by slug. */
    async slugsLike(start: string, limit: number): Promise<string[]> {
      const { rows } = await beginning({ from: start, until: `${start}${AFTER_SLUGS}`, limit })
      return rows.map(({ slug }) => slug)
    },
  }
}

/** Sorts after every sign of a slug. */
const AFTER_SLUGS = '~'

/** What is public of each site; its address and description are null when it has none. */
function sites(kysely: Kysely<Schema>, nowMs: number) {
  return kysely.selectFrom('site').select([
    'site.id',
    'site.slug',
    'site.name',
    'site.description',
    'site.address',
    // One subquery in the select list of a page counts only what the page shows.
    sql<number>`(select count(*) from course where course.site_id = site.id
      and course.published_at <= ${nowMs} and course.archived_at is null)`.as('courseCount'),
  ])
}

/** What is public of a course. */
export type PublishedCourse = Awaited<
  ReturnType<ReturnType<typeof publishedCourses>['executeTakeFirstOrThrow']>
>

/** The shop windows of all sites. */
export type PublicCourses = ReturnType<typeof makePublicCourses>

interface Published {
  readonly siteId: string
  readonly nowMs: number
}

interface PublishedQuestion extends Published {
  /** Only courses with these words in title, slug or summary, in any case of letters. */
  readonly words?: string | undefined
}

/** A course of more lectures than this shows its first ones; `lectureCount` says how many exist. */
export const LECTURES_SHOWN_MAX = 500

/** Made once: unauthenticated callers may ask, so that a question has to cost little. */
export function makePublicCourses({ kysely }: Database) {
  const site = compiled(kysely, (value: Valued<{ slug: string }>) =>
    kysely.selectFrom('site').select(['id', 'slug', 'name']).where('slug', '=', value('slug')),
  )
  const siteById = compiled(kysely, (value: Valued<{ id: string }>) =>
    kysely.selectFrom('site').select(['id', 'slug', 'name']).where('id', '=', value('id')),
  )
  const count = compiled(kysely, (value: Valued<Published>) =>
    publishedCourses(kysely, value).clearSelect().select(sql<number>`count(*)`.as('total')),
  )
  const page = coursePage(kysely)
  const course = compiled(kysely, (value: Valued<Published & { slug: string }>) =>
    publishedCourses(kysely, value).where('course.slug', '=', value('slug')),
  )
  return {
    /** The site of that slug as its visitors know it, or nothing. */
    findSite: async (slug: string) => (await site({ slug })).rows[0],

    findSiteById: async (id: string) => (await siteById({ id })).rows[0],

    /** The published courses of a site, by slug. Two queries at the same time. */
    async list(
      { words, ...published }: PublishedQuestion,
      request: PageRequest,
    ): Promise<CountedPage<PublishedCourse>> {
      if (words !== undefined) return await searchedPage(kysely, { ...published, words }, request)
      const [found, { rows: counted }] = await Promise.all([
        page(published, request),
        count(published),
      ])
      const rows = found.slice(0, request.first)
      return {
        rows,
        places: rows.map(({ slug, id }) => [slug, id]),
        hasNextPage: found.length > request.first,
        totalCount: Number(counted[0]?.total),
      }
    },

    /** One published course with its lectures, or nothing. Two queries. */
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

/** One row more than wanted, which tells whether more follow (`platform/store/keyset.ts`). */
function coursePage(kysely: Kysely<Schema>) {
  const next = compiled(
    kysely,
    (value: Valued<Published & { limit: number; slug: string | number; id: string }>) =>
      publishedCourses(kysely, value)
        .where(sql<boolean>`(course.slug, course.id) > (${value('slug')}, ${value('id')})`)
        .orderBy('course.slug')
        .orderBy('course.id')
        .limit(value('limit')),
  )
  return async (
    published: Published,
    { first: wanted, after: [slug, id] = ['', ''] }: PageRequest,
  ) => (await next({ ...published, limit: wanted + 1, slug, id })).rows
}

/** Reads every published course of the site, so it serves searches only. */
async function searchedPage(
  kysely: Kysely<Schema>,
  { words, ...published }: Published & { readonly words: string },
  request: PageRequest,
): Promise<CountedPage<PublishedCourse>> {
  const columns = ['course.title', 'course.slug', 'course.summary']
  const held = columns.map((column) => holdsWords(column, words))
  return await readCountedPage(
    publishedCourses(kysely, (name) => published[name]).where(
      sql<boolean>`(${sql.join(held, sql` or `)})`,
    ),
    {
      by: 'course.slug',
      id: 'course.id',
      direction: 'asc',
      placeOf: ({ slug, id }) => [slug, id],
    },
    request,
  )
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
      // One subquery in the select list of a page counts only what the page shows.
      sql<number>`(select count(*) from lecture where lecture.course_id = course.id)`.as(
        'lectureCount',
      ),
    ])
    .where('course.site_id', '=', value('siteId'))
    .where('course.published_at', '<=', value('nowMs'))
    .where('course.archived_at', 'is', null)
}
