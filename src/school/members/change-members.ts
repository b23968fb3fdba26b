import type { Transaction } from 'kysely'
import { z } from 'zod'

import { canonicalEmail } from '../../directory/people/person-store.ts'
import { endGrants } from '../../oauth/grants/end-grants.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { changeSite, newId, type SiteActor } from '../changes/change.ts'
import { line, NAME_LENGTH_MAX, readInput } from '../changes/input.ts'
import { conflict, notFound } from '../changes/refusals.ts'
import { grantRoles, rolesOf, takeRoles } from './site-roles.ts'

const roles = z
  .array(z.enum(['owner', 'admin', 'lecturer', 'student']))
  .min(1, 'must name a role')
  .transform((named) => [...new Set(named)].sort())
const addition = z.strictObject({
  email: z.email('must be an e-mail address').max(254, 'must have at most 254 characters'),
  name: line(NAME_LENGTH_MAX),
  roles,
})

export type MemberAddition = z.input<typeof addition>

/**
 * Gives roles at the site to whoever has this address. Somebody who is new to the service becomes a
 * person without a password; one who is known keeps name and password, and nothing in the answer, in
 * the audit trail or in the statements that run tells the one from the other.
 *
 * @returns the id of the person
 * @throws ChangeRefused for a value without its form, and when one who is no owner makes an owner
 */
export async function addMember(
  database: Database,
  actor: SiteActor,
  input: MemberAddition,
): Promise<string> {
  const wanted = readInput(addition, input)
  return await changeSite(database, actor, async (trx, record) => {
    const id = await personOf(trx, wanted, actor.now)
    const before = await rolesOf(trx, actor.siteId, id)
    const added = wanted.roles.filter((role) => !before.includes(role))
    if (added.length === 0) return id
    await mayChangeOwners(trx, actor, added)
    await grantRoles(trx, actor, id, added)
    await subscribe(trx, actor, id)
    await record({
      action: 'member.add',
      subject: { kind: 'person', id },
      before: { roles: before },
      after: { roles: [...before, ...added].sort() },
    })
    return id
  })
}

/**
 * Lets a member hold these roles and no others. Who teaches no more is taken from the courses, too.
 *
 * @throws ChangeRefused for nobody of the site, for owners where the actor is none, and for the last one
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
    await mayChangeOwners(trx, actor, [...added, ...removed])
    if (removed.includes('owner')) await mustLeaveAnOwner(trx, actor.siteId, id)
    await takeRoles(trx, actor.siteId, id, removed)
    await grantRoles(trx, actor, id, added)
    await record({
      action: 'member.roles',
      subject: { kind: 'person', id },
      before: { roles: before },
      after: { roles: wanted },
    })
  })
}

/**
 * Takes all roles at the site from a person, and ends what they allowed applications there. What they
 * bought stays, and is there again when they are added again.
 *
 * @throws ChangeRefused for nobody of the site, for an owner where the actor is none, and for the last one
 */
export async function removeMember(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const before = await mustHaveRoles(trx, actor.siteId, id)
    await mayChangeOwners(trx, actor, before)
    if (before.includes('owner')) await mustLeaveAnOwner(trx, actor.siteId, id)
    await takeRoles(trx, actor.siteId, id, before)
    const whose = { personId: id, siteId: actor.siteId }
    const ending = { reason: 'an operator ended it', nowMs: actor.now } as const
    const ended = await endGrants(trx, whose, ending)
    await record({
      action: 'member.remove',
      subject: { kind: 'person', id },
      before: { roles: before, grants: ended.length },
      after: { roles: [], grants: 0 },
    })
  })
}

/**
 * Lets a new member hear what the site announces, in the inbox and not by e-mail, until they say
 * otherwise. What a member has decided already stays.
 */
async function subscribe(
  trx: Transaction<Schema>,
  { siteId, now }: SiteActor,
  personId: string,
): Promise<void> {
  const whose = { person_id: personId, site_id: siteId, topic: ANNOUNCEMENTS }
  await trx
    .insertInto('notification_subscription')
    .values([
      { id: newId('sub'), ...whose, channel: 'inbox', enabled_at: now },
      { id: newId('sub'), ...whose, channel: 'email', enabled_at: null },
    ])
    .onConflict((decided) => decided.doNothing())
    .execute()
}

/** The topic of announcements that name no other. */
const ANNOUNCEMENTS = 'announcements'

/** The person of an address, made when there is none: the same two statements in either case. */
async function personOf(
  trx: Transaction<Schema>,
  { email, name }: z.output<typeof addition>,
  nowMs: number,
): Promise<string> {
  const email_canonical = canonicalEmail(email)
  await trx
    .insertInto('person')
    .values({ id: newId('per'), email, email_canonical, name, created_at: nowMs })
    .onConflict((known) => known.column('email_canonical').doNothing())
    .execute()
  const { id } = await trx
    .selectFrom('person')
    .select('id')
    .where('email_canonical', '=', email_canonical)
    .executeTakeFirstOrThrow()
  return id
}

async function mustHaveRoles(trx: Transaction<Schema>, siteId: string, id: string) {
  const held = await rolesOf(trx, siteId, id)
  if (held.length === 0) throw notFound('member')
  return held
}

/** The roles of the actor are read here and not in the token: another change may have taken them. */
async function mayChangeOwners(
  trx: Transaction<Schema>,
  { siteId, personId }: SiteActor,
  changed: readonly SiteRole[],
): Promise<void> {
  if (!changed.includes('owner')) return
  const own = await rolesOf(trx, siteId, personId)
  if (!own.includes('owner')) throw conflict('only owners make and unmake owners', 'roles')
}

/** An owner whose account is disabled cannot act for the site, and does not count. */
async function mustLeaveAnOwner(trx: Transaction<Schema>, siteId: string, id: string) {
  const other = await trx
    .selectFrom('site_role')
    .innerJoin('person', 'person.id', 'site_role.person_id')
    .select('person.id')
    .where('site_role.site_id', '=', siteId)
    .where('site_role.role', '=', 'owner')
    .where('person.id', '!=', id)
    .where('person.disabled_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  if (!other) throw conflict('the last owner of a site stays', 'roles')
}
