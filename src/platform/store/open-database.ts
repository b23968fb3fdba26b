import type { Database, DatabaseLocation, DatabaseOptions } from './database.ts'
import type { MigrationStatus } from './migrate.ts'

const QUERY_TIMEOUT_MS = 300

/** Opens a database and brings its schema up to date. Only the driver that is used is loaded. */
export async function openDatabase(
  location: DatabaseLocation,
  options: DatabaseOptions = {},
): Promise<Database> {
  const complete = { queryTimeoutMs: QUERY_TIMEOUT_MS, now: Date.now, ...options }
  if (location.kind === 'sqlite') {
    const { openSqlite } = await import('./sqlite.ts')
    return await openSqlite(location.file, complete)
  }
  const { openPostgres } = await import('./postgres.ts')
  return await openPostgres(location, complete)
}

/** What opening a database would do to its schema; it is neither made nor changed. */
export async function readSchemaStatus(
  location: DatabaseLocation,
  options: Pick<DatabaseOptions, 'migrationsFolder'> = {},
): Promise<MigrationStatus> {
  if (location.kind === 'sqlite') {
    const { readSqliteStatus } = await import('./sqlite.ts')
    return await readSqliteStatus(location.file, options)
  }
  const { readPostgresStatus } = await import('./postgres.ts')
  return await readPostgresStatus(location.url, options)
}
