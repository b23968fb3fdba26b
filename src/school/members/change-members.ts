import type { Transaction } from 'kysely'
import { z } from 'zod'

import { canonicalEmail } from '../../directory/people/person-store.ts'
import { endGrants } from '../../oauth/grants/end-grants.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { isUnused } from '../../platform/store/unused-people.ts'
import { changeSite, findRoles, newId, type SiteActor } from '../changes/change.ts'
import { line, NAME_LENGTH_MAX, readInput } from '../changes/input.ts'
import { conflict, limitReached } from '../changes/refusals.ts'
import { listSolelyOwned } from './last-owner.ts'
import { grantRoles, mustHaveRoles, takeRoles } from './site-roles.ts'

const roles = z
  .array(z.enum(['owner', 'admin', 'lecturer', 'student']))
  .min(1, 'must contain at least one role')
  .transform((named) => [...new Set(named)].sort())
const addition = z.strictObject({
  email: z.email('must be an e-mail address').max(254, 'must have at most 254 characters'),
  name: line(NAME_LENGTH_MAX),
  roles,
})

export type MemberAddition = z.input<typeof addition>

/**
 * Grants roles at the site to the person with this e-mail address. Creates the person, without a password, if the
 * address is unknown. A known person keeps their name and password, but operators of the site see the entered name if
 * the person had no role there. The response, the audit event and the statements are the same in both cases, so they do
 * not reveal who has an account.
 *
 * @param additionsMax how many people the site can add in 24 hours
 * @returns the id of the person
 * @throws ChangeRefused for an invalid value, if a non-owner adds an owner, or if the site has added too many people
 */
export async function addMember(
  database: Database,
  actor: SiteActor,
  input: MemberAddition,
  additionsMax: number,
): Promise<string> {
  const wanted = readInput(addition, input)
  return await changeSite(database, actor, async (trx, record) => {
    const id = await findOrCreatePerson(trx, wanted, actor.now)
    const before = await findRoles(trx, actor.siteId, id)
    const added = wanted.roles.filter((role) => !before.includes(role))
    if (added.length === 0) return id
    await mustBeAllowedToChangeOwners(trx, actor, added)
    if (before.length === 0) await noteAddition(trx, actor, { id, name: wanted.name }, additionsMax)
    await grantRoles(trx, actor, id, added)
    await subscribe(trx, actor, id)
    const change = { before: { roles: before }, after: { roles: [...before, ...added].sort() } }
    await record('member.add', { kind: 'person', id }, change)
    return id
  })
}

/**
 * Replaces the roles of a member. A member who loses the lecturer role also stops teaching their courses.
 *
 * @throws ChangeRefused for an unknown member, if a non-owner adds or removes an owner, or if no owner would be left
 */
export async function setMemberRoles(
  database: Database,
  actor: SiteActor,
  { id, ...input }: { readonly id: string; readonly roles: z.input<typeof roles> },
): Promise<void> {
  const { roles: wanted } = readInput(z.strictObject({ roles }), input)
  await changeSite(database, actor, async (trx, record) => {
    const before = await mustHaveRoles(trx, actor.siteId, id)
    const added = wanted.filter((role) => !before.includes(role))
    const removed = before.filter((role) => !wanted.includes(role))
    if (added.length + removed.length === 0) return
    await mustBeAllowedToChangeOwners(trx, actor, [...added, ...removed])
    if (removed.includes('owner')) await mustLeaveAnOwner(trx, actor.siteId, id)
    await takeRoles(trx, actor.siteId, id, removed)
    await grantRoles(trx, actor, id, added)
    const change = { before: { roles: before }, after: { roles: wanted } }
    await record('member.roles', { kind: 'person', id }, change)
  })
}

/**
 * Removes all roles of a person at the site, and ends their grants there. Purchases are kept, and become available
 * again if the person is added again.
 *
 * @throws ChangeRefused for an unknown member, if a non-owner removes an owner, or if no owner would be left
 */
export async function removeMember(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const before = await mustHaveRoles(trx, actor.siteId, id)
    await mustBeAllowedToChangeOwners(trx, actor, before)
    if (before.includes('owner')) await mustLeaveAnOwner(trx, actor.siteId, id)
    await takeRoles(trx, actor.siteId, id, before)
    const ofMember = { personId: id, siteId: actor.siteId }
    const ending = { reason: 'an operator ended it', nowMs: actor.now } as const
    const { length: grants } = await endGrants(trx, ofMember, ending)
    // Mark a person whom nothing refers to. Clean-up checks this again before it deletes the person.
    const person = trx.updateTable('person').set({ unused_at: actor.now }).where('id', '=', id)
    await person.where(isUnused).execute()
    const change = { before: { roles: before, grants }, after: { roles: [], grants: 0 } }
    await record('member.remove', { kind: 'person', id }, change)
  })
}

/** Subscribes a new member to announcements in the inbox, but not by e-mail. Keeps earlier choices of the member. */
async function subscribe(
  trx: Transaction<Schema>,
  { siteId, now }: SiteActor,
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

/** Finds or creates a person, with the same statement for known and unknown addresses. */
async function findOrCreatePerson(
  trx: Transaction<Schema>,
  { email, name }: z.output<typeof addition>,
  nowMs: number,
): Promise<string> {
  const email_canonical = canonicalEmail(email)
  const { id } = await trx
    .insertInto('person')
    .values({ id: newId('per'), email, email_canonical, name, created_at: nowMs })
    // This also locks a known person, whom clean-up could otherwise delete before the role is granted.
    .onConflict((known) => known.column('email_canonical').doUpdateSet({ unused_at: null }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

const DAY_MS = 86_400_000

/**
 * Records an addition, with the name that operators see. Removing the member keeps the row, so a removal does not
 * allow more additions. Throws ChangeRefused at the limit.
 */
async function noteAddition(
  trx: Transaction<Schema>,
  { siteId, now }: SiteActor,
  { id, name }: { readonly id: string; readonly name: string },
  max: number,
): Promise<void> {
  const { additions, first } = await trx
    .selectFrom('member_addition')
    .select(({ fn }) => [fn.countAll().as('additions'), fn.min('added_at').as('first')])
    .where('site_id', '=', siteId)
    .where('added_at', '>', now - DAY_MS)
    .executeTakeFirstOrThrow()
  if (Number(additions) >= max) {
    const next = new Date(Number(first) + DAY_MS).toISOString()
    throw limitReached(`a site can add ${max} people in 24 hours; add more after ${next}`)
  }
  const row = { name, added_at: now }
  await trx
    .insertInto('member_addition')
    .values({ person_id: id, site_id: siteId, ...row })
    .onConflict((known) => known.columns(['person_id', 'site_id']).doUpdateSet(row))
    .execute()
}

/** Throws ChangeRefused if the actor is not an owner, but adds or removes one. Reads the actor's current roles. */
async function mustBeAllowedToChangeOwners(
  trx: Transaction<Schema>,
  { siteId, personId }: SiteActor,
  changed: readonly SiteRole[],
): Promise<void> {
  if (!changed.includes('owner')) return
  const own = await findRoles(trx, siteId, personId)
  if (!own.includes('owner')) throw conflict('only an owner can add or remove owners', 'roles')
}

/** Throws ChangeRefused if the site has no other owner whose account is enabled and will not be deleted. */
async function mustLeaveAnOwner(trx: Transaction<Schema>, siteId: string, id: string) {
  const sites = await listSolelyOwned(trx, id, siteId)
  if (sites.length > 0) throw conflict('the last owner of a site cannot be removed', 'roles')
}
