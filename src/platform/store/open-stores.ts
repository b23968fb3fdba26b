import { join } from 'node:path'

import { openStoreClock } from './clock.ts'
import type { Database, DatabaseLocation, DatabaseOptions } from './database.ts'
import type { StoreGuard } from './guarded-stores.ts'
import type { MigrationStatus } from './migrate.ts'
import { redisState, sqlState } from './oauth-state.ts'
import type { RedisClient, RedisLocation } from './redis.ts'
import { EVERYTHING_ENDED, openRedisMemory } from './redis-memory.ts'

/** Where the stores of a service are, and how long a call may take. */
export interface StoreSettings {
  /** The folder of the embedded database, used without a `databaseUrl`. */
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** Without it, OAuth state is in the database. */
  readonly redis: RedisLocation | undefined
  readonly answerWithinMs: number
  readonly databaseConnectionsMax: number
  /** Whether opening the database applies pending migrations, or fails because of them. */
  readonly migrateAtStart: boolean
}

/** The open stores; they outlive a change of keys. */
export type Stores = Awaited<ReturnType<typeof openStores>>

export interface StoreHooks extends Pick<DatabaseOptions, 'onIdleError'> {
  /** Wraps every call to the database and the OAuth state. */
  readonly guard: StoreGuard
}

/** Opens the stores of a running service. */
export async function openStores(settings: StoreSettings, hooks: StoreHooks) {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openServiceDatabase(settings, hooks))
  const clock = await openStoreClock(database)
  const redis = settings.redis && (await openServiceRedis(settings.redis, settings))
  const state = opening.use(
    redis
      ? redisState(redis, { now: clock.now, guard: hooks.guard })
      : sqlState(database, { now: clock.now }),
  )
  const stateMemory = redis
    ? await openRedisMemory(redis, database, clock.now)
    : await openDatabaseMemory(database)
  const open = opening.move()
  return {
    database,
    state,
    /** For every decision that processes have to agree on. */
    storeClock: clock,
    /** Since when the OAuth state has lost nothing. */
    stateMemory,
    /** For counts; undefined without Redis. */
    redis,
    /** Rejects when one of them does not answer in time. */
    ping: async () => void (await Promise.all([database.ping(), state.ping()])),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** State in the database loses nothing; a restore of a backup ends everything (oauth/grants/end-grants.ts). */
async function openDatabaseMemory({ kysely }: Database) {
  const row = await kysely
    .selectFrom('setting')
    .select('value')
    .where('name', '=', EVERYTHING_ENDED)
    .executeTakeFirst()
  const sinceMs = Number(row?.value ?? 0)
  return { since: () => sinceMs, look: async () => {} }
}

/** Loads the driver only where it is used. */
async function openServiceRedis(
  location: RedisLocation,
  { answerWithinMs }: StoreSettings,
): Promise<RedisClient> {
  const { openRedis } = await import('./redis.ts')
  return await openRedis(location, { answerWithinMs })
}

/** Opens the database that these settings name, for the service or for a command. */
export async function openServiceDatabase(
  settings: StoreSettings,
  options: Partial<StoreHooks> & Pick<DatabaseOptions, 'migrationTimeoutMs'> = {},
): Promise<Database> {
  const { answerWithinMs, migrateAtStart } = settings
  const migrations = migrateAtStart ? 'apply' : 'refuse'
  return await openDatabase(locationOf(settings), { answerWithinMs, migrations, ...options })
}

/** Where the database of these settings is. */
export function locationOf({
  dataDir,
  databaseUrl: url,
  databaseConnectionsMax: connectionsMax,
}: Pick<StoreSettings, 'dataDir' | 'databaseUrl' | 'databaseConnectionsMax'>): DatabaseLocation {
  if (url) return { kind: 'postgres', url, connectionsMax }
  return { kind: 'sqlite', file: join(dataDir, 'gatehouse.db') }
}

const ANSWER_WITHIN_MS = 300

/** Opens a database and brings its schema up to date. Only the driver that is used is loaded. */
export async function openDatabase(
  location: DatabaseLocation,
  options: DatabaseOptions = {},
): Promise<Database> {
  const complete = { answerWithinMs: ANSWER_WITHIN_MS, now: Date.now, ...options }
  if (location.kind === 'sqlite') {
    const { openSqlite } = await import('./sqlite.ts')
    return await openSqlite(location.file, complete)
  }
  const { openPostgres } = await import('./postgres.ts')
  return await openPostgres(location, complete)
}

/** Reads what opening a database would do to its schema, without creating or changing it. */
export async function readSchemaStatus(location: DatabaseLocation): Promise<MigrationStatus> {
  if (location.kind === 'sqlite') {
    const { readSqliteStatus } = await import('./sqlite.ts')
    return await readSqliteStatus(location.file)
  }
  const { readPostgresStatus } = await import('./postgres.ts')
  return await readPostgresStatus(location.url)
}
