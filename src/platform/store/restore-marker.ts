/** Marks all stores with the current time, to detect a database that was restored without the `restore` command. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { sql } from 'kysely'
import type { Logger } from 'pino'

import type { Database } from './database.ts'
import type { RedisClient } from './redis.ts'
import { writeSetting } from './settings.ts'

/** The name of the marker in each store. In the database, it is a setting whose value comes from `databaseId`. */
const MARKER = 'restore_marker'
const REDIS_KEY = `gatehouse:${MARKER}`
export const MARK_SECONDS = 60

interface MarkedStores {
  readonly database: Database
  readonly redis: RedisClient | undefined
  readonly dataDir: string
}

/**
 * Looks for signs that the database was restored: a later marker in Redis or DATA_DIR, a different PostgreSQL timeline,
 * or a different database. May find nothing if all stores were restored to the same time.
 *
 * @returns the database's `id`; if signs exist, a `sentence` about them and `isOlder`: whether another store is newer
 */
export async function findRestore({ database, redis, dataDir }: MarkedStores) {
  // The database is marked first and read last, so its marker is earlier only if the database lost writes.
  const inRedis = Number(await redis?.get(REDIS_KEY))
  const inFolder = Number(await readFile(join(dataDir, MARKER), 'utf8').catch(() => 0))
  const id = await databaseId(database)
  const settings = database.kysely.selectFrom('setting').where('name', '=', MARKER)
  const marker = await settings.select(['value', 'updated_at as atMs']).executeTakeFirst()
  const grants = database.kysely.selectFrom('oauth_grant').where('ended_at', 'is', null)
  // A database without a marker either is new and has no grants, or was copied before it was first marked.
  if (!marker && !(await grants.select('id').executeTakeFirst())) return { id }
  const { atMs, value } = marker ?? { atMs: 0, value: '' }
  const date = marker ? new Date(atMs).toISOString() : 'an unknown time'
  if (inRedis > atMs || inFolder > atMs) {
    const newer = inRedis > atMs ? 'Redis' : 'DATA_DIR'
    return {
      id,
      isOlder: true,
      sentence: `The state of the database is from ${date}, but the state of ${newer} is newer`,
    }
  }
  if (!value || !id || value === id) return { id }
  const sentence = `Since ${date}, PostgreSQL has switched to another timeline, or the database has been replaced`
  return { id, isOlder: false, sentence }
}

/** Returns PostgreSQL's ids of the database and of its timeline; an empty string on Aurora, standbys and SQLite. */
async function databaseId({ engine, kysely }: Database): Promise<string> {
  if (engine === 'sqlite') return ''
  const query = sql<{ readonly id: string }>`
    select oid || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as id
    from pg_database where datname = current_database()`
  const { rows } = await query.execute(kysely).catch(() => ({ rows: [] }))
  return rows[0]?.id ?? ''
}

/** Creates the task that marks all stores or, if the database seems to have been restored, only logs a warning. */
export function makeMarking(stores: MarkedStores, now: () => number, logger: Logger) {
  const { database, redis, dataDir } = stores
  return async (): Promise<void> => {
    const { id, sentence } = await findRestore(stores)
    if (sentence) return logger.warn(`${sentence}; run \`npm run gatehouse -- doctor\``)
    const nowMs = now()
    // Another process may have marked all stores with a later time.
    await sql`insert into setting (name, value, updated_at) values (${MARKER}, ${id}, ${nowMs})
      on conflict (name) do update set updated_at = excluded.updated_at,
        value = coalesce(nullif(excluded.value, ''), setting.value)
      where setting.updated_at < excluded.updated_at`.execute(database.kysely)
    await redis?.set(REDIS_KEY, nowMs)
    // With PostgreSQL, DATA_DIR need not exist.
    await writeFile(join(dataDir, MARKER), String(nowMs), { mode: 0o600 }).catch(() => {})
  }
}

/** Accepts the database as it is: marks it without an id, so `findRestore` finds nothing. */
export async function acceptRestore({ kysely }: Database, nowMs: number): Promise<void> {
  await writeSetting(kysely, MARKER, '', nowMs)
}
