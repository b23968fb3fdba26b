import type { Kysely, Transaction } from 'kysely'

import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { findRoles, newId, type SiteActor } from '../changes/change.ts'
import { notFound } from '../changes/refusals.ts'
import { PERSON_FIELDS, type SitePerson } from './people-list.ts'

/** A role of a person at a site, and when it was granted. */
export interface HeldRole {
  readonly role: SiteRole
  readonly since: number
}

/** Finds a person with a role at the site: any role, or the given one. */
export async function findMember(
  kysely: Kysely<Schema>,
  siteId: string,
  { id, role }: { readonly id: string; readonly role?: SiteRole },
): Promise<SitePerson | undefined> {
  return await kysely
    .selectFrom('person')
    .select(PERSON_FIELDS)
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

/** Lists the roles of each person at a site, oldest first, with one query. */
export async function listHeldRoles(
  kysely: Kysely<Schema>,
  personIds: readonly string[],
  siteId: string,
): Promise<Map<string, HeldRole[]>> {
  const rows = await kysely
    .selectFrom('site_role')
    .select(['person_id', 'role', 'granted_at as since'])
    .where('site_id', '=', siteId)
    .where('person_id', 'in', personIds)
    .execute()
  // Sort here, because `order by` makes SQLite read the whole index of the site.
  rows.sort((one, other) => one.since - other.since || one.role.localeCompare(other.role))
  const held = Map.groupBy(rows, ({ person_id }) => person_id)
  return new Map(
    [...held].map(([id, roles]) => [id, roles.map(({ role, since }) => ({ role, since }))]),
  )
}

/** Returns the roles of a person at the site. @throws ChangeRefused if there are none */
export async function mustHaveRoles(trx: Transaction<Schema>, siteId: string, personId: string) {
  const roles = await findRoles(trx, siteId, personId)
  if (roles.length === 0) throw notFound('member')
  return roles
}

/** Grants roles to a person. Existing roles keep their date. */
export async function grantRoles(
  trx: Transaction<Schema>,
  { siteId, now }: Pick<SiteActor, 'siteId' | 'now'>,
  personId: string,
  given: readonly SiteRole[],
): Promise<void> {
  if (given.length === 0) return
  const row = { person_id: personId, site_id: siteId, granted_at: now }
  await trx
    .insertInto('site_role')
    .values(given.map((role) => ({ ...row, role })))
    .onConflict((held) => held.doNothing())
    .execute()
}

/** Subscribes a new member to announcements in the inbox, but not by e-mail. Keeps earlier choices of the member. */
export async function subscribe(
  trx: Transaction<Schema>,
  { siteId, now }: Pick<SiteActor, 'siteId' | 'now'>,
  personId: string,
): Promise<void> {
  const subscription = { person_id: personId, site_id: siteId, topic: 'announcements' }
  await trx
    .insertInto('notification_subscription')
    .values([
      { id: newId('sub'), ...subscription, channel: 'inbox', enabled_at: now },
      { id: newId('sub'), ...subscription, channel: 'email', enabled_at: null },
    ])
    .onConflict((decided) => decided.doNothing())
    .execute()
}

/** Removes roles from a person. Without the lecturer role, the person no longer teaches courses of the site. */
export async function takeRoles(
  trx: Transaction<Schema>,
  siteId: string,
  personId: string,
  taken: readonly SiteRole[],
): Promise<void> {
  if (taken.length === 0) return
  await trx
    .deleteFrom('site_role')
    .where('person_id', '=', personId)
    .where('site_id', '=', siteId)
    .where('role', 'in', taken)
    .execute()
  if (!taken.includes('lecturer')) return
  await trx
    .deleteFrom('course_lecturer')
    .where('person_id', '=', personId)
    .where('course_id', 'in', (eb) =>
      eb.selectFrom('course').select('id').where('site_id', '=', siteId),
    )
    .execute()
}
