import { sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { dayOf } from './grant-store.ts'

// Maximum number of grants counted between two flushes; calls of other grants are not counted.
const GRANTS_MAX = 50_000
// Maximum grants in a batch. Batches are small because SQLite blocks the process while it writes.
const GRANTS_PER_WRITE = 100
// Minimum time between two updates of `last_used_at`.
const LAST_USED_STEP_MS = 60_000

interface Uses {
  calls: number
  lastAtMs: number
}

/**
 * Counts uses of grants in memory. Adds the counts to the database every few seconds, and when the process stops. A
 * killed process loses its latest counts, which is cheaper than a disk write for every API call.
 */
export function makeGrantUsage(database: Database, now: () => number) {
  let counted = new Map<string, Uses>()

  const count = (grantId: string, { calls, lastAtMs }: Uses) => {
    const known = counted.get(grantId)
    if (known) {
      known.calls += calls
      known.lastAtMs = Math.max(known.lastAtMs, lastAtMs)
    } else if (counted.size < GRANTS_MAX) counted.set(grantId, { calls, lastAtMs })
  }

  return {
    /** Counts a use of one of the grant's tokens. Never waits or fails. */
    count: (grantId: string) => count(grantId, { calls: 1, lastAtMs: now() }),

    /** Adds the counts to the database. If that fails, keeps them for the next flush. */
    async flush() {
      // Use the same order in every process, so row locks cannot deadlock.
      const taken = [...counted].sort(([one], [other]) => (one < other ? -1 : 1))
      counted = new Map()
      while (taken.length > 0) {
        const batch = taken.slice(0, GRANTS_PER_WRITE)
        try {
          await database.kysely.transaction().execute(async (trx) => await write(trx, batch))
        } catch (error) {
          for (const [grantId, uses] of taken) count(grantId, uses)
          throw error
        }
        taken.splice(0, batch.length)
      }
    },
  }
}

/** Writes a batch with two statements. Skips grants that ended in the meantime. */
async function write(trx: Transaction<Schema>, batch: readonly [string, Uses][]): Promise<void> {
  // Cast the parameters, because PostgreSQL treats them as text here.
  const rows = batch.map(
    ([grantId, { calls, lastAtMs }]) =>
      sql`(${grantId}, cast(${dayOf(lastAtMs)} as integer), cast(${calls} as integer), cast(${lastAtMs} as bigint))`,
  )
  const counted = sql`counted (grant_id, day, calls, last_at) as (values ${sql.join(rows)})`
  // Lock rows in the order of their ids, as every process does.
  await sql`
    with ${counted}
    insert into oauth_grant_day (grant_id, day, calls)
    select counted.grant_id, counted.day, counted.calls
    from counted join oauth_grant on oauth_grant.id = counted.grant_id
    where oauth_grant.ended_at is null
    order by counted.grant_id
    on conflict (grant_id, day) do update set calls = oauth_grant_day.calls + excluded.calls
  `.execute(trx)
  await sql`
    with ${counted}
    update oauth_grant set last_used_at = counted.last_at from counted
    where oauth_grant.id = counted.grant_id and oauth_grant.ended_at is null
      and coalesce(oauth_grant.last_used_at, 0) <= counted.last_at - cast(${LAST_USED_STEP_MS} as bigint)
  `.execute(trx)
}
