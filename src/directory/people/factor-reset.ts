/** Decides when a person may remove a lost authenticator app by mail. Every site of the person must allow this. */

import type { Kysely } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import { FACTOR_RESET } from '../sites/site-admin.ts'

/** How long an app cannot be removed by mail after a password was set by mail. */
const HOLD_MS = 7 * 86_400_000

/**
 * Returns the earliest time at which a person may remove the authenticator app by mail, in epoch milliseconds. Returns
 * undefined without an app or a site, if one of the person's sites does not allow it, and for platform reviewers.
 */
export async function findResetTime(
  kysely: Kysely<Schema>,
  personId: string,
): Promise<number | undefined> {
  const rows = await kysely
    .selectFrom('totp')
    .innerJoin('site_role as r', 'r.person_id', 'totp.person_id')
    .leftJoin('site_feature as f', (join) =>
      join.onRef('f.site_id', '=', 'r.site_id').on('f.feature', '=', FACTOR_RESET),
    )
    .leftJoin('platform_reviewer as p', 'p.person_id', 'totp.person_id')
    .select(['totp.no_reset_before', 'f.enabled_at', 'p.granted_at as reviewerSince'])
    .where('totp.person_id', '=', personId)
    .execute()
  const [row] = rows
  const isAllowed = rows.every((each) => each.enabled_at !== null && each.reviewerSince === null)
  return row && isAllowed ? (row.no_reset_before ?? 0) : undefined
}

/** Delays a reset by mail after a password was set by mail: the mailbox alone must not replace both factors. */
export async function holdFactorReset(
  trx: Kysely<Schema>,
  personId: string,
  nowMs: number,
): Promise<void> {
  await trx
    .updateTable('totp')
    .set({ no_reset_before: nowMs + HOLD_MS })
    .where('person_id', '=', personId)
    .execute()
}
