import type { Database } from './database.ts'
import type { RedisClient } from './redis.ts'

/** The setting that says when all sessions and grants ended, in epoch milliseconds. */
export const EVERYTHING_ENDED = 'everything_ended_at'

/** How often a cluster is asked for its servers, so how soon a fail-over is noticed. */
export const MEMORY_LOOK_SECONDS = 1

/**
 * Tells by its run id which Redis server this is. A run id that was not seen before may be a server that
 * loaded a snapshot, or a replica that took over with less, and no setting proves that it is not: earlier
 * writes count as lost. The database keeps the ids, so that a process that starts knows since when.
 */
export async function openRedisMemory(
  client: RedisClient,
  { kysely }: Pick<Database, 'kysely'>,
  now: () => number,
) {
  const seenAt = new Map<string, number>()
  let present: readonly string[] = []
  let unknownSince: number | undefined = now()
  let connections = 0

  const register = async (runIds: readonly string[]): Promise<void> => {
    const nowMs = now()
    const known = await kysely.selectFrom('redis_server').select('run_id').executeTakeFirst()
    await kysely
      .insertInto('redis_server')
      // Nothing was used before the first server of all.
      .values(runIds.map((runId) => ({ run_id: runId, seen_at: known ? nowMs : 0 })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const rows = await kysely
      .selectFrom('redis_server')
      .selectAll()
      .where('run_id', 'in', runIds)
      .execute()
    for (const row of rows) seenAt.set(row.run_id, row.seen_at)
  }

  const look = async (): Promise<void> => {
    const connection = connections
    const found = await readRunIds(client)
    const unseen = found.filter((runId) => !seenAt.has(runId))
    if (unseen.length > 0) {
      // Everything counts as lost until the database has the time.
      for (const runId of unseen) seenAt.set(runId, now())
      present = found
      await register(unseen).catch((error: unknown) => {
        for (const runId of unseen) seenAt.delete(runId)
        throw error
      })
    }
    present = found
    if (connection === connections) unknownSince = undefined
  }
  // After a reconnect it may be another server, or an older one.
  client.on('ready', () => {
    connections += 1
    unknownSince = now()
    look().catch(() => {})
  })
  // Where INFO is forbidden, it may be another server after each reconnect.
  await look().catch(() => {})
  return {
    /** In epoch milliseconds, by the clock of the database. Earlier writes may be lost. */
    since: () =>
      Math.max(unknownSince ?? 0, ...present.map((runId) => seenAt.get(runId) ?? Infinity), 0),
    /** Checks again which server it is. For a server that was not seen before, `since` is now. Never fails. */
    async look() {
      // One server cannot become another without a reconnect; the masters of a cluster can.
      if ('nodes' in client || unknownSince !== undefined) await look().catch(() => {})
    },
  }
}

/** The run id of each server that takes writes. */
async function readRunIds(client: RedisClient): Promise<string[]> {
  const servers = 'nodes' in client ? client.nodes('master') : [client]
  const texts = await Promise.all(servers.map((server) => server.info('server')))
  return texts.map((text) => /^run_id:(\S+)/m.exec(text)?.[1] ?? 'unknown')
}
