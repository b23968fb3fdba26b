import { type Kysely, sql } from 'kysely'

import { compiled, type Valued } from '../../platform/store/compiled.ts'
import type { Database } from '../../platform/store/database.ts'
import { type CountedPage, type PageRequest, readCountedPage } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { holdsWords } from '../../platform/store/search.ts'

/** What anybody may know of a site: what its front page says. */
export interface PublicSite {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly description: string | null
  /** The address of its own pages; null when it has none. */
  readonly address: string | null
  /** How many courses it has published. */
  readonly courseCount: number
}

/** The sites of the platform, as visitors know them. */
export type PublicSites = ReturnType<typeof makePublicSites>

export interface SiteQuestion {
  /** Only sites with these words in name or slug, in any case of letters. */
  readonly words: string | undefined
  readonly nowMs: number
}

/** Made once: anybody may ask, without a token, so that a question has to cost little. */
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
    list: async (
      { words, nowMs }: SiteQuestion,
      request: PageRequest,
    ): Promise<CountedPage<PublicSite>> =>
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
