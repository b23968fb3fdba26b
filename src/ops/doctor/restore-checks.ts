/** Detects a database that was restored without the `restore` command, by markers in all stores. */

import { sql } from 'kysely'
import type { Logger } from 'pino'

import type { Config } from '../../config/config.ts'
import type { Database } from '../../platform/store/database.ts'
import type { openStores } from '../../platform/store/open-stores.ts'
import { openRedis } from '../../platform/store/redis.ts'
import * as shared from '../../school/files/shared-folder.ts'
import { type Finding, found } from './checks.ts'

/** The name of the marker in each store. In the database, it is a setting whose value is its first `idOf`. */
const MARKER = 'restore_marker'
const REDIS_KEY = `gatehouse:${MARKER}`
const REDIS_READY_TIMEOUT_MS = 2_000
type Stores = Pick<Awaited<ReturnType<typeof openStores>>, 'database' | 'redis'>

/** Looks for a restore without the `restore` command. A Redis that does not respond has a finding of its own. */
export async function* checkRestore(config: Config, database: Database): AsyncGenerator<Finding> {
  const redis = await openRedisOf(config).catch(() => undefined)
  const looking = lookForRestore({ database, redis }, shared.folderOfFiles(config))
  const { finding } = await looking.finally(() => redis?.disconnect())
  if (finding) yield finding
}

/** Opens Redis if it is configured. @throws if it does not respond within two seconds */
export async function openRedisOf({ redis, service }: Config) {
  const { answerWithinMs } = service.storage
  return redis && openRedis(redis, { answerWithinMs, readyTimeoutMs: REDIS_READY_TIMEOUT_MS })
}

/**
 * Looks for a marker that is later than the database's, and for another timeline of PostgreSQL. Finds nothing if all
 * stores were restored to the same time.
 */
async function lookForRestore({ database, redis }: Stores, folder: string | undefined) {
  // The database is marked first and read last, so it has an earlier time only if it lost writes.
  const inRedis = Number(await redis?.get(REDIS_KEY))
  const inFolder = Number(folder && (await shared.readMarker(folder, MARKER)))
  const id = await idOf(database)
  const settings = database.kysely.selectFrom('setting').where('name', '=', MARKER)
  const marker = await settings.select(['value', 'updated_at as atMs']).executeTakeFirst()
  if (!marker) return { id }
  const date = new Date(marker.atMs).toISOString()
  if (inRedis > marker.atMs || inFolder > marker.atMs) {
    const newer = inRedis > marker.atMs ? 'Redis' : 'the folder for files'
    return { id, finding: found('restore.older', `The database is of ${date}, before ${newer}`) }
  }
  if (!marker.value || !id || marker.value === id) return { id }
  const said = `Since ${date}, PostgreSQL is on another timeline, or this is another database`
  return { id, finding: found('restore.timeline', said) }
}

/** Returns PostgreSQL's ids of the database and of its timeline; empty if unknown, and for SQLite. */
async function idOf({ engine, kysely }: Database): Promise<string> {
  if (engine === 'sqlite') return ''
  const query = sql<{ readonly id: string }>`
    select oid || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as id
    from pg_database where datname = current_database()`
  // Standbys and Aurora reject this query.
  const { rows } = await query.execute(kysely).catch(() => ({ rows: [] }))
  return rows[0]?.id ?? ''
}

/** Creates the task that marks all stores with the time. It stops while the database seems restored, to keep the sign. */
export function makeMarking(stores: Stores & { now(): number }, config: Config, logger: Logger) {
  const folder = shared.folderOfFiles(config)
  return async (): Promise<void> => {
    const { id, finding } = await lookForRestore(stores, folder)
    if (finding) return logger.warn(`${finding.sentence}; ${finding.cure}`)
    const nowMs = stores.now()
    // Another host may have marked all stores with a later time.
    await sql`insert into setting (name, value, updated_at) values (${MARKER}, ${id}, ${nowMs})
      on conflict (name) do update set updated_at = excluded.updated_at
      where setting.updated_at < excluded.updated_at`.execute(stores.database.kysely)
    await stores.redis?.set(REDIS_KEY, nowMs)
    // Uploads and doctor report a folder that cannot be written.
    if (folder) await shared.writeMarker(folder, MARKER, String(nowMs)).catch(() => {})
  }
}

/** Accepts the database and the folder for files as they are. The next marking and the next upload then name them. */
export async function acceptRestore({ kysely }: Database): Promise<void> {
  await kysely.deleteFrom('setting').where('name', 'in', [MARKER, shared.FOLDER_ID]).execute()
}
