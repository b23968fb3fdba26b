/** Reads and changes the roles of people at a site. */

import { type Kysely, sql, type Transaction } from 'kysely'
import { z } from 'zod'

import { endGrantsWithEvents } from '../../oauth/grants/end-grants.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { checkedChange, findRoles, newId, type SiteActor, siteChange } from '../changes/change.ts'
import { conflict, notFound } from '../changes/refusals.ts'
import { PERSON_FIELDS, type SitePerson } from './people-list.ts'

/** Finds a person with a role at the site: any role, or the given one. */
export async function findMember(
  kysely: Kysely<Schema>,
  siteId: string,
  { id, role }: { readonly id: string; readonly role?: SiteRole },
): Promise<SitePerson | undefined> {
  return await kysely
    .selectFrom('site_role as held')
    .innerJoin('person', 'person.id', 'held.person_id')
    .select(PERSON_FIELDS)
    .where('held.person_id', '=', id)
    .where('held.site_id', '=', siteId)
    .$if(role !== undefined, (query) => query.where('held.role', '=', role ?? 'student'))
    .executeTakeFirst()
}

/** Lists the roles of each person at a site, oldest first, with one query. */
export async function listHeldRoles(
  kysely: Kysely<Schema>,
  personIds: readonly string[],
  siteId: string,
) {
  const rows = await kysely
    .selectFrom('site_role')
    .select(['person_id', 'role', 'granted_at as since'])
    .where('site_id', '=', siteId)
    .where('person_id', 'in', personIds)
    .execute()
  // Sort here, because `order by` makes SQLite read the whole index of the site.
  rows.sort((one, other) => one.since - other.since || one.role.localeCompare(other.role))
  return Map.groupBy(rows, ({ person_id }) => person_id)
}

/** Returns the roles of a person at the site. @throws ChangeRefused if the person has no role */
export async function mustHaveRoles(trx: Transaction<Schema>, siteId: string, personId: string) {
  const roles = await findRoles(trx, siteId, personId)
  if (roles.length === 0) throw notFound('person')
  return roles
}

/** Grants roles to a person. Roles that the person already has keep their date. */
export async function grantRoles(
  trx: Transaction<Schema>,
  { siteId, now }: Pick<SiteActor, 'siteId' | 'now'>,
  personId: string,
  given: readonly SiteRole[],
): Promise<void> {
  if (given.length === 0) return
  const row = { person_id: personId, site_id: siteId, granted_at: now }
  await insertNew(trx, 'site_role', ...given.map((role) => ({ ...row, role })))
}

/** Subscribes a new member to announcements in the inbox, but not by e-mail. Keeps earlier choices of the member. */
export async function subscribe(
  trx: Transaction<Schema>,
  { siteId, now }: Pick<SiteActor, 'siteId' | 'now'>,
  personId: string,
): Promise<void> {
  const subscription = { person_id: personId, site_id: siteId, topic: 'announcements' }
  const byInbox = { id: newId('sub'), ...subscription, channel: 'inbox', enabled_at: now } as const
  const byMail = { id: newId('sub'), ...subscription, channel: 'email', enabled_at: null } as const
  await insertNew(trx, 'notification_subscription', byInbox, byMail)
}

export const rolesSchema = z
  .array(z.enum(['owner', 'admin', 'lecturer', 'student']))
  .min(1, 'must contain at least one role')
  .transform((named) => [...new Set(named)].sort())

/**
 * Replaces a member's roles. Removes a former lecturer from courses, and ends a former owner's grants to operator apps.
 *
 * @throws ChangeRefused for an unknown member, if a non-owner adds or removes an owner, or if no owner would be left
 */
export const setMemberRoles = checkedChange(
  z.strictObject({ id: z.string(), roles: rolesSchema }),
  async ({ trx, actor, record }, { id, roles: wanted }) => {
    const before = await mustHaveRoles(trx, actor.siteId, id)
    const added = wanted.filter((role) => !before.includes(role))
    const removed = before.filter((role) => !wanted.includes(role))
    if (added.length + removed.length === 0) return
    await mustBeAllowedToChangeOwners(trx, actor, [...added, ...removed])
    await takeRoles(trx, actor.siteId, id, removed)
    const reason = 'the person is no longer an owner of the site'
    if (removed.includes('owner')) {
      await endGrantsWithEvents(trx, { formerOwners: [id] }, reason, actor)
    }
    await grantRoles(trx, actor, id, added)
    const change = { before: { roles: before }, after: { roles: wanted } }
    record('member.roles', { kind: 'person', id }, change)
  },
)

/**
 * Removes all roles of a person at the site, and ends the person's grants there. Purchases stay, and become available
 * again if the person joins again.
 *
 * @throws ChangeRefused for an unknown member, if a non-owner removes an owner, or if no owner would be left
 */
export const removeMember = siteChange(async ({ trx, actor, record }, id: string) => {
  const before = await mustHaveRoles(trx, actor.siteId, id)
  await mustBeAllowedToChangeOwners(trx, actor, before)
  await takeRoles(trx, actor.siteId, id, before)
  const ofMember = { personId: id, siteId: actor.siteId }
  const grants = await endGrantsWithEvents(trx, ofMember, 'an operator ended it', actor)
  const change = { before: { roles: before, grants }, after: { roles: [], grants: 0 } }
  record('member.remove', { kind: 'person', id }, change)
})

/** Ends a member's grants at the site. The member stays signed in. @throws ChangeRefused for an unknown member */
export const endMemberAccess = siteChange(async ({ trx, actor, record }, id: string) => {
  const { siteId } = actor
  await mustHaveRoles(trx, siteId, id)
  const ofMember = { personId: id, siteId }
  const grants = await endGrantsWithEvents(trx, ofMember, 'an operator ended it', actor)
  const change = { personId: id, before: { grants }, after: { grants: 0 } }
  record('grants.end_person', { kind: 'person', id }, change)
})

/** Throws ChangeRefused if the actor adds or removes an owner, but is not an owner. Reads the actor's current roles. */
export async function mustBeAllowedToChangeOwners(
  trx: Transaction<Schema>,
  { siteId, personId }: SiteActor,
  changed: readonly SiteRole[],
): Promise<void> {
  if (!changed.includes('owner')) return
  const own = await findRoles(trx, siteId, personId)
  if (!own.includes('owner'))
    throw conflict('only owners can add or remove owners; ask an owner', 'roles')
}

/**
 * Removes roles from a person. If the lecturer role is removed, the person no longer teaches the site's courses.
 * Throws ChangeRefused if the site would have no owner whose account is enabled and not scheduled for deletion.
 */
async function takeRoles(
  trx: Transaction<Schema>,
  siteId: string,
  personId: string,
  taken: readonly SiteRole[],
): Promise<void> {
  if (taken.length === 0) return
  if (taken.includes('owner') && (await listSolelyOwned(trx, personId, siteId)).length > 0) {
    throw conflict('the last owner cannot be removed; make another person an owner first', 'roles')
  }
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

/**
 * Lists the sites that a person owns alone. Other owners do not count if their account is disabled or scheduled for
 * deletion.
 *
 * @param siteId limits the list to this site
 */
export async function listSolelyOwned(kysely: Kysely<Schema>, personId: string, siteId?: string) {
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
