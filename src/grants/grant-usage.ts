import type { Transaction } from 'kysely'

import type { Database } from '../store/database.ts'
import type { Schema } from '../store/schema.ts'
import { dayOf } from './grant-store.ts'

export type GrantUsage = ReturnType<typeof makeGrantUsage>

// What is counted for more grants than this between two flushes is not counted at all.
const GRANTS_MAX = 50_000
// SQLite stands still while it writes, so it is given little at a time.
const GRANTS_PER_WRITE = 100
// `last_used_at` is written at most once a minute.
const LAST_USED_STEP_MS = 60_000

interface Uses {
  calls: number
  lastAtMs: number
}

/**
 * Counts the uses of grants without a write at the use: counts gather in memory and are added
 * to the database every few seconds and when the process stops. A process that is killed loses what
 * it counted in between, which is worth less than a disk write at every call of an API.
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
    /** A token of this grant was used. Never waits, never fails. */
    count: (grantId: string) => count(grantId, { calls: 1, lastAtMs: now() }),

    /** Adds what was counted to the database. On failure it is kept for the next time. */
    async flush() {
      // In one order everywhere, so that two processes never wait for each other's rows in a circle.
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

async function write(trx: Transaction<Schema>, batch: readonly [string, Uses][]): Promise<void> {
  const grantIds = batch.map(([grantId]) => grantId)
  const live = await trx
    .selectFrom('oauth_grant')
    .select(['id', 'last_used_at'])
    .where('id', 'in', grantIds)
    .where('ended_at', 'is', null)
    .execute()
  // A grant that ended meanwhile is nothing to be counted for.
  const lastUsedAt = new Map(live.map((row) => [row.id, row.last_used_at ?? 0]))
  const counted = batch.filter(([grantId]) => lastUsedAt.has(grantId))
  if (counted.length === 0) return

  const days = counted.map(([grantId, { calls, lastAtMs }]) => ({
    grant_id: grantId,
    day: dayOf(lastAtMs),
    calls,
  }))
  await trx
    .insertInto('oauth_grant_day')
    .values(days)
    .onConflict((conflict) =>
      conflict.columns(['grant_id', 'day']).doUpdateSet((eb) => ({
        calls: eb('oauth_grant_day.calls', '+', eb.ref('excluded.calls')),
      })),
    )
    .execute()
  for (const [grantId, { lastAtMs }] of counted) {
    if (lastAtMs - (lastUsedAt.get(grantId) ?? 0) < LAST_USED_STEP_MS) continue
    await trx
      .updateTable('oauth_grant')
      .set({ last_used_at: lastAtMs })
      .where('id', '=', grantId)
      .execute()
  }
}
