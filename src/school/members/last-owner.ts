import { type Kysely, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/**
 * Lists the sites at which a person is the only owner whose account is neither disabled nor waiting for its deletion.
 *
 * @param siteId only this site, if given
 */
export async function listSolelyOwned(
  kysely: Kysely<Schema>,
  personId: string,
  siteId?: string,
): Promise<{ readonly id: string; readonly name: string }[]> {
  return await kysely
    .selectFrom('site_role as own')
    .innerJoin('site', 'site.id', 'own.site_id')
    .select(['site.id', 'site.name'])
    .where('own.person_id', '=', personId)
    .where('own.role', '=', 'owner')
    .$if(siteId !== undefined, (query) => query.where('own.site_id', '=', siteId ?? ''))
    .where(
      sql<boolean>`not exists (select 1 from site_role r join person p on p.id = r.person_id
        where r.site_id = own.site_id and r.role = 'owner' and r.person_id <> own.person_id
        and p.disabled_at is null and p.deletion_due_at is null)`,
    )
    .orderBy('site.name')
    .execute()
}
