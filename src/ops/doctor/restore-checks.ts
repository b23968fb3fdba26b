/** Detects a database that was restored without the `restore` command, by markers in all stores. */

import { sql } from 'kysely'

import type { Platform } from '../../platform/platform.ts'
import type { Database } from '../../platform/store/database.ts'
import { FOLDER_ID, readMarker, writeMarker } from '../../school/files/shared-folder.ts'
import { found } from './checks.ts'

/** The name of the marker in each store. In the database, it is a setting whose value is its first `idOf`. */
const MARKER = 'restore_marker'
const REDIS_KEY = `gatehouse:${MARKER}`

type Stores = Pick<Platform['stores'], 'database' | 'redis'>

/**
 * Looks for a marker that is later than the database's, and for another timeline of PostgreSQL. Finds nothing if all
 * stores were restored to the same time.
 *
 * @returns the finding, and `id`: PostgreSQL's ids of the database and its timeline; empty if unknown
 */
export async function lookForRestore({ database, redis }: Stores, folder: string | undefined) {
  // The database is marked first and read last, so it has an earlier time only if it lost writes.
  const inRedis = Number(await redis?.get(REDIS_KEY))
  const inFolder = Number(folder && (await readMarker(folder, MARKER)))
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
export function makeMarking({ stores, now, logger }: Platform, folder: string | undefined) {
  return async (): Promise<void> => {
    const { id, finding } = await lookForRestore(stores, folder)
    if (finding) return logger.warn(`${finding.sentence}; ${finding.cure}`)
    const nowMs = now()
    // Another host may have marked all stores with a later time.
    await sql`insert into setting (name, value, updated_at) values (${MARKER}, ${id}, ${nowMs})
      on conflict (name) do update set updated_at = excluded.updated_at
      where setting.updated_at < excluded.updated_at`.execute(stores.database.kysely)
    await stores.redis?.set(REDIS_KEY, nowMs)
    // Uploads and doctor report a folder that cannot be written.
    if (folder) await writeMarker(folder, MARKER, String(nowMs)).catch(() => {})
  }
}

/** Accepts the database and the folder for files as they are. The next marking and the next upload then name them. */
export async function acceptRestore({ kysely }: Database): Promise<void> {
  await kysely.deleteFrom('setting').where('name', 'in', [MARKER, FOLDER_ID]).execute()
}
