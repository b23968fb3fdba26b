import type { Transaction } from 'kysely'

import type { Schema, SiteRole } from '../../platform/store/schema.ts'

/** The roles of a person at a site, sorted. */
export async function rolesOf(
  trx: Transaction<Schema>,
  siteId: string,
  personId: string,
): Promise<SiteRole[]> {
  const rows = await trx
    .selectFrom('site_role')
    .select('role')
    .where('person_id', '=', personId)
    .where('site_id', '=', siteId)
    .execute()
  return rows.map(({ role }) => role).sort()
}

interface RolesAtSite {
  readonly personId: string
  readonly siteId: string
  readonly roles: readonly SiteRole[]
}

/** Gives roles to a person; those that they hold already stay as old as they are. */
export async function grantRoles(
  trx: Transaction<Schema>,
  { personId, siteId, roles: given, nowMs }: RolesAtSite & { readonly nowMs: number },
): Promise<void> {
  if (given.length === 0) return
  const row = { person_id: personId, site_id: siteId, granted_at: nowMs }
  await trx
    .insertInto('site_role')
    .values(given.map((role) => ({ ...row, role })))
    .onConflict((held) => held.doNothing())
    .execute()
}

/** Takes roles from a person; who teaches no more is taken from the courses, too. */
export async function takeRoles(
  trx: Transaction<Schema>,
  { personId, siteId, roles: taken }: RolesAtSite,
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
