import type { Transaction } from 'kysely'
import { z } from 'zod'

import { endGrants } from '../../oauth/grants/end-grants.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { changeSite, findRoles, type SiteActor } from '../changes/change.ts'
import { readInput } from '../changes/input.ts'
import { conflict } from '../changes/refusals.ts'
import { listSolelyOwned } from './last-owner.ts'
import { grantRoles, mustHaveRoles, takeRoles } from './site-roles.ts'

/** The schema of the roles that a person shall have. */
export const rolesSchema = z
  .array(z.enum(['owner', 'admin', 'lecturer', 'student']))
  .min(1, 'must contain at least one role')
  .transform((named) => [...new Set(named)].sort())
/**
 * Replaces the roles of a member. A member who loses the lecturer role also stops teaching their courses.
 *
 * @throws ChangeRefused for an unknown member, if a non-owner adds or removes an owner, or if no owner would be left
 */
export async function setMemberRoles(
  database: Database,
  actor: SiteActor,
  { id, ...input }: { readonly id: string; readonly roles: z.input<typeof rolesSchema> },
): Promise<void> {
  const { roles: wanted } = readInput(z.strictObject({ roles: rolesSchema }), input)
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
 * again if the person joins again.
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
    const change = { before: { roles: before, grants }, after: { roles: [], grants: 0 } }
    await record('member.remove', { kind: 'person', id }, change)
  })
}

/** Throws ChangeRefused if the actor is not an owner, but adds or removes one. Reads the actor's current roles. */
export async function mustBeAllowedToChangeOwners(
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
