import type { Kysely } from 'kysely'

import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import type { SitePerson } from './people-list.ts'

/** A role of a person at the site. */
export interface HeldRole {
  readonly role: SiteRole
  readonly since: number
}

/** One person who holds a role at the site, or that role where one is named; or nothing. One query. */
export async function findMember(
  kysely: Kysely<Schema>,
  siteId: string,
  { id, role }: { readonly id: string; readonly role?: SiteRole },
): Promise<SitePerson | undefined> {
  return await kysely
    .selectFrom('person')
    .select(['id', 'name', 'email', 'picture'])
    .where('id', '=', id)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('site_role')
          .select('role')
          .whereRef('person_id', '=', 'person.id')
          .where('site_id', '=', siteId)
          .$if(role !== undefined, (query) => query.where('role', '=', role ?? 'student')),
      ),
    )
    .executeTakeFirst()
}

/** The roles that people hold at a site, each person's in the order in which they got them. One query. */
export async function listHeldRoles(
  kysely: Kysely<Schema>,
  siteId: string,
  personIds: readonly string[],
): Promise<Map<string, HeldRole[]>> {
  const rows = await kysely
    .selectFrom('site_role')
    .select(['person_id', 'role', 'granted_at as since'])
    .where('site_id', '=', siteId)
    .where('person_id', 'in', personIds)
    .execute()
  // Sorted here: for the order SQLite would read the site's index by age, and everybody in it.
  rows.sort((one, other) => one.since - other.since || one.role.localeCompare(other.role))
  const held = Map.groupBy(rows, ({ person_id }) => person_id)
  return new Map(
    [...held].map(([id, roles]) => [id, roles.map(({ role, since }) => ({ role, since }))]),
  )
}
