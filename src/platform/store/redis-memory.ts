import type { Database } from './database.ts'
import { insertNew } from './insert-new.ts'
import type { RedisClient } from './redis.ts'

/** The name of the setting that says when all sessions and grants were last ended together, in epoch milliseconds. */
export const EVERYTHING_ENDED = 'everything_ended_at'

/** The interval at which to check the servers of a cluster. A failover goes unnoticed for about this long at most. */
export const MEMORY_LOOK_SECONDS = 1

/**
 * Tracks Redis servers by their run ids. A server with a new run id may have loaded an old snapshot, or be a replica
 * that lacks writes. No setting rules this out, so all earlier writes count as lost. The ids are stored in the
 * database for processes that start later.
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
    // Nothing was stored before the first server was used, so nothing can be lost.
    const seen_at = known ? nowMs : 0
    await insertNew(kysely, 'redis_server', ...runIds.map((run_id) => ({ run_id, seen_at })))
    const stored = kysely.selectFrom('redis_server').where('run_id', 'in', runIds)
    for (const row of await stored.selectAll().execute()) seenAt.set(row.run_id, row.seen_at)
  }

  const look = async (): Promise<void> => {
    const connection = connections
    const found = await readRunIds(client)
    const unseen = found.filter((runId) => !seenAt.has(runId))
    // Until the database returns the stored time, all writes count as lost.
    for (const runId of unseen) seenAt.set(runId, now())
    present = found
    if (unseen.length > 0) {
      await register(unseen).catch((error: unknown) => {
        for (const runId of unseen) seenAt.delete(runId)
        throw error
      })
    }
    if (connection === connections) unknownSince = undefined
  }
  // After a reconnect, the client may be connected to a different server.
  client.on('ready', () => {
    connections += 1
    unknownSince = now()
    look().catch(() => {})
  })
  // If INFO is forbidden, every start and every reconnect counts as a new server.
  await look().catch(() => {})
  return {
    /** Returns the time, by the database clock, before which writes may have been lost. */
    since: () =>
      Math.max(unknownSince ?? 0, ...present.map((runId) => seenAt.get(runId) ?? Infinity), 0),
    /** Checks the run ids again. Never rejects. If a server is new, `since` then returns when it was first seen. */
    async look() {
      // A single server changes only if the client reconnects, but the masters of a cluster can change at any time.
      if ('nodes' in client || unknownSince !== undefined) await look().catch(() => {})
    },
  }
}

/** Reads the run id of every server that accepts writes. */
async function readRunIds(client: RedisClient): Promise<string[]> {
  const servers = 'nodes' in client ? client.nodes('master') : [client]
  const texts = await Promise.all(servers.map((server) => server.info('server')))
  return texts.map((text) => /^run_id:(\S+)/m.exec(text)?.[1] ?? 'unknown')
}
