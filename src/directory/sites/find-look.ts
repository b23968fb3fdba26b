import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { SiteColors } from './colors.ts'

/** What the pages show of a site: the part of its appearance that it chose. */
export interface Look extends SiteColors {
  readonly siteId: string
  /** The name of the site where it chose none for its pages. */
  readonly name: string
  readonly displayName: string | null
  /** Of the bytes of the logo; null without one. */
  readonly logoDigest: string | null
  readonly signInWords: string | null
  readonly consentWords: string | null
}

/** The look of a site, or nothing when it chose none. One query. */
export async function findLook({ kysely }: Database, siteId: string): Promise<Look | undefined> {
  return await looks(kysely).where('chosen.site_id', '=', siteId).executeTakeFirst()
}

/** The look of the one site at which a person holds a role, or nothing. One query. */
export async function findLookOfPerson(
  { kysely }: Database,
  personId: string,
): Promise<Look | undefined> {
  return await looks(kysely)
    .where(
      'chosen.site_id',
      '=',
      sql<string>`(select min(site_id) from site_role where person_id = ${personId}
        having count(distinct site_id) = 1)`,
    )
    .executeTakeFirst()
}

function looks(kysely: Database['kysely']) {
  return kysely
    .selectFrom('site_appearance as chosen')
    .innerJoin('site', 'site.id', 'chosen.site_id')
    .leftJoin('stored_file as logo', 'logo.id', 'chosen.logo_file_id')
    .select([
      'chosen.site_id as siteId',
      sql<string>`coalesce(chosen.display_name, site.name)`.as('name'),
      'chosen.display_name as displayName',
      'chosen.accent_color as accentColor',
      'chosen.background_color as backgroundColor',
      'chosen.sign_in_words as signInWords',
      'chosen.consent_words as consentWords',
      'logo.sha256 as logoDigest',
    ])
}

/** The file that is the logo of a site now and has this content; nothing else is shown to everybody. */
export async function findLogo({ kysely }: Database, siteId: string, digest: string) {
  return await kysely
    .selectFrom('site_appearance as chosen')
    .innerJoin('stored_file as logo', 'logo.id', 'chosen.logo_file_id')
    .select(['logo.id as fileId', 'logo.media_type as mediaType', 'logo.size_bytes as sizeBytes'])
    .where('chosen.site_id', '=', siteId)
    .where('logo.sha256', '=', digest)
    .executeTakeFirst()
}
