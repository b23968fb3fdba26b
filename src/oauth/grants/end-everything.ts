import { recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'
import { endGrants } from './end-grants.ts'

/** What ended with everything. */
export interface Ended {
  /** Grants that were alive. Tokens of grants that this database does not know are worth nothing anyway. */
  readonly grants: number
  /** Records of sessions, sign-ins that had begun, and codes; those of Redis end by the time that is set. */
  readonly records: number
}

/** As many rows as one statement removes, within its time limit. */
const BATCH_ROWS_MAX = 1000

/**
 * Ends all grants, with every code and token of them, and every session of a browser that began until now:
 * what a database needs that was restored from a backup, in which what was used, revoked and signed out since
 * is as it was before. People sign in and allow again; applications and what people bought are untouched.
 *
 * Call it before any process serves, by the clock of the database (`withDatabase` of a command gives it). Each
 * step can be repeated, so that after a failure it is called again. One audit event says that it happened.
 *
 * @param nowMs epoch milliseconds
 */
export async function endEverything(database: Database, nowMs: number): Promise<Ended> {
  const { kysely } = database
  const value = String(nowMs)
  // First, because it alone already ends every session, and all proofs that were made before.
  await kysely
    .insertInto('setting')
    .values({ name: EVERYTHING_ENDED, value, updated_at: nowMs })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, updated_at: nowMs }))
    .execute()
  const reason = 'the database was restored from a backup'
  const grants = (await endGrants(kysely, 'everything', { reason, nowMs })).length
  const records = await removeRecords(database)
  await recordAuditEvent(
    kysely,
    { now: nowMs },
    {
      action: 'grants.end_everything',
      subject: { kind: 'service', id: 'all grants and sessions' },
      siteId: undefined,
      after: { grants, records },
    },
  )
  return { grants, records }
}

/** The records of the engine that are in the database; self-registered clients stay what they are. */
async function removeRecords({ kysely }: Database): Promise<number> {
  let removed = 0
  for (;;) {
    const rows = await kysely
      .selectFrom('oauth_state')
      .select(['model', 'id'])
      .where('model', '<>', 'Client')
      .limit(BATCH_ROWS_MAX)
      .execute()
    if (rows.length === 0) return removed
    for (const model of new Set(rows.map((row) => row.model))) {
      const ids = rows.filter((row) => row.model === model).map(({ id }) => id)
      const { numDeletedRows } = await kysely
        .deleteFrom('oauth_state')
        .where('model', '=', model)
        .where('id', 'in', ids)
        .executeTakeFirstOrThrow()
      removed += Number(numDeletedRows)
    }
  }
}
