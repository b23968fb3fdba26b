import { sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { dayOf } from './grant-store.ts'

// Maximum number of grants counted between two flushes. Uses of further grants are not counted.
const GRANTS_MAX = 50_000
// Maximum number of grants per transaction. In SQLite, a transaction blocks the process for 2 to 10 ms. With fewer
// rows, most of that time would be overhead.
const GRANTS_PER_WRITE = 500
// Minimum difference between two stored values of a grant's `last_used_at`.
const LAST_USED_STEP_MS = 60_000

interface Uses {
  calls: number
  lastAtMs: number
}

/**
 * Counts uses of grants in memory, because a disk write for every API call would cost too much. compose.ts flushes the
 * counts to the database every few seconds and when the process stops. A killed process loses its latest counts.
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
    /** Counts one use of the grant, in memory only. */
    count: (grantId: string) => count(grantId, { calls: 1, lastAtMs: now() }),

    /** Adds the counts to the database. If a write fails, rejects and keeps the remaining counts for the next flush. */
    async flush() {
      // Lock rows in the same order in every process, to avoid deadlocks.
      const taken = [...counted].sort(([one], [other]) => (one < other ? -1 : 1))
      counted = new Map()
      while (taken.length > 0) {
        const batch = taken.slice(0, GRANTS_PER_WRITE)
        try {
          const { engine, kysely } = database
          await kysely.transaction().execute(async (trx) => await writeUses(trx, engine, batch))
        } catch (error) {
          for (const [grantId, uses] of taken) count(grantId, uses)
          throw error
        }
        taken.splice(0, batch.length)
      }
    },
  }
}

/** Writes a batch, except for ended grants. Uses one JSON parameter, because binding each value costs more time. */
async function writeUses(
  trx: Transaction<Schema>,
  engine: Database['engine'],
  batch: readonly [string, Uses][],
): Promise<void> {
  const byGrant = Object.fromEntries(
    batch.map(([grantId, { calls, lastAtMs }]) => [grantId, [dayOf(lastAtMs), calls, lastAtMs]]),
  )
  const text = JSON.stringify(byGrant)
  const json = { sqlite: sql`${text}`, postgres: sql`cast(${text} as json)` }[engine]
  const counted = sql`counted as (
    select key as grant_id, cast(value ->> 0 as integer) as day, cast(value ->> 1 as integer) as calls,
      cast(value ->> 2 as bigint) as last_at
    from json_each(${json}))`
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
