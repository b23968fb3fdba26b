import type { Database } from './database.ts'
import type { RedisClient } from './redis.ts'

/** Since when the state store has forgotten nothing. */
export interface StateMemory {
  /** Epoch milliseconds, by the clock of the database. What was written before may be gone. */
  since(): number
  /** Looks again which server it is. Where a server was not seen before, `since` is now. Never fails. */
  look(): Promise<void>
}

/** So often is a cluster asked which servers these are: a fail-over is known after so long at most. */
export const MEMORY_LOOK_SECONDS = 1

export interface RedisMemoryPorts {
  readonly database: Pick<Database, 'kysely'>
  readonly now: () => number
}

/**
 * Redis says with which id it was started. A start that was not seen before may have come from a snapshot, or
 * be a replica that took over with less, and no setting proves that it was not: what was used before is
 * treated as forgotten. The ids are kept in the database, so that a process which starts knows since when.
 */
export async function openRedisMemory(
  client: RedisClient,
  { database, now }: RedisMemoryPorts,
): Promise<StateMemory> {
  const met = new Map<string, number>()
  let present: readonly string[] = []
  let unknownSince: number | undefined = now()
  let ready = 0

  const meet = async (runIds: readonly string[]): Promise<void> => {
    const nowMs = now()
    const { kysely } = database
    const known = await kysely.selectFrom('redis_server').select('run_id').executeTakeFirst()
    await kysely
      .insertInto('redis_server')
      // Before the first of all nothing was used that these could have forgotten.
      .values(runIds.map((runId) => ({ run_id: runId, seen_at: known ? nowMs : 0 })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const rows = await kysely
      .selectFrom('redis_server')
      .selectAll()
      .where('run_id', 'in', runIds)
      .execute()
    for (const row of rows) met.set(row.run_id, row.seen_at)
  }

  const look = async (): Promise<void> => {
    const asked = ready
    const found = await runIds(client)
    const strangers = found.filter((runId) => !met.has(runId))
    if (strangers.length > 0) {
      // Nothing that was used until now is known to be there, until the database knows better.
      for (const runId of strangers) met.set(runId, now())
      present = found
      await meet(strangers).catch((error: unknown) => {
        for (const runId of strangers) met.delete(runId)
        throw error
      })
    }
    present = found
    if (asked === ready) unknownSince = undefined
  }
  // A server that went away may be another one when it is back, or an older one.
  client.on('ready', () => {
    ready += 1
    unknownSince = now()
    look().catch(() => {})
  })
  // Where nobody may ask which server it is, it may be another one after each new connection.
  await look().catch(() => {})
  return {
    since: () =>
      Math.max(unknownSince ?? 0, ...present.map((runId) => met.get(runId) ?? Infinity), 0),
    async look() {
      // One server cannot become another without a new connection; the masters of a cluster can.
      if ('nodes' in client || unknownSince !== undefined) await look().catch(() => {})
    },
  }
}

/** State in the database itself, which ends everything when it is restored (oauth/grants/end-everything.ts). */
export function databaseMemory(sinceMs: number): StateMemory {
  return { since: () => sinceMs, look: async () => {} }
}

/** The id of each server that takes writes. */
async function runIds(client: RedisClient): Promise<string[]> {
  const servers = 'nodes' in client ? client.nodes('master') : [client]
  const texts = await Promise.all(servers.map((server) => server.info('server')))
  return texts.map((text) => /^run_id:(\S+)/m.exec(text)?.[1] ?? 'unknown')
}
