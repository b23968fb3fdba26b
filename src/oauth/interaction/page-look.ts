import type { SiteLook, SiteWords } from '../../../views/site-look.ts'
import { findLook, type Look } from '../../directory/sites/find-look.ts'
import { siteLook } from '../../directory/sites/site-look.ts'
import type { Database } from '../../platform/store/database.ts'
import type { PendingInteraction } from './pending-interaction.ts'

export interface PageLookPorts {
  readonly database: Database
}

/** How a page of an interaction looks, and what the site says on it. */
export interface PageLook {
  readonly look: SiteLook | undefined
  readonly signInWords: SiteWords | undefined
  readonly consentWords: SiteWords | undefined
}

/** The pages of a site's own application look like the site; those of all others as the service does. */
export async function findPageLook(
  { client: { siteId } }: PendingInteraction,
  { database }: PageLookPorts,
): Promise<PageLook> {
  const found = siteId === undefined ? undefined : await findLook(database, siteId)
  return {
    look: siteLook(found),
    signInWords: wordsOf(found, found?.signInWords),
    consentWords: wordsOf(found, found?.consentWords),
  }
}

function wordsOf(look: Look | undefined, text: string | null | undefined): SiteWords | undefined {
  return look && text != null ? { siteName: look.name, text } : undefined
}
