import { join } from 'node:path'

import type { Logger } from 'pino'

import { CLOCK_READ_SECONDS, makeClockWatch, openStoreClock } from './clock.ts'
import type { Database, DatabaseLocation, DatabaseOptions } from './database.ts'
import type { StoreGuard } from './guarded-stores.ts'
import type { MigrationStatus } from './migrate.ts'
import { redisState, sqlState } from './oauth-state.ts'
import type { RedisLocation } from './redis.ts'
import { warnOfLoss } from './redis-durability.ts'
import { EVERYTHING_ENDED, MEMORY_LOOK_SECONDS, openRedisMemory } from './redis-memory.ts'

/** The settings of the stores. */
export interface StoreSettings {
  /** The folder of the embedded database, used without a `databaseUrl`. */
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** Without it, OAuth state is in the database. */
  readonly redis: RedisLocation | undefined
  /** Whether opening the database applies pending migrations, or fails because of them. */
  readonly migrateAtStart: boolean
  readonly storage: {
    /** How long a call may take. */
    readonly answerWithinMs: number
    readonly databaseConnectionsMax: number
  }
}

/**
 * Opens the stores of a running service. `guard` wraps every call to the database and the OAuth state.
 *
 * @param processes how many processes of this host share its database connections
 */
export async function openStores(
  settings: StoreSettings,
  { guard, logger }: { readonly guard: StoreGuard; readonly logger: Logger },
  processes = 1,
) {
  const { answerWithinMs, databaseConnectionsMax } = settings.storage
  await using opening = new AsyncDisposableStack()
  const database = opening.use(
    await openServiceDatabase(settings, {
      guard,
      onIdleError: ({ message }) => logger.warn({ cause: message }, 'a database connection broke'),
      connectionsMax: Math.max(1, Math.floor(databaseConnectionsMax / processes)),
    }),
  )
  const { now, measure } = await openStoreClock(database)
  // Load the driver only where it is used.
  const redis =
    settings.redis &&
    (await (await import('./redis.ts')).openRedis(settings.redis, { answerWithinMs }))
  const state = opening.use(redis ? redisState(redis, { now, guard }) : sqlState(database, { now }))
  const stateMemory = redis
    ? await openRedisMemory(redis, database, now)
    : await openDatabaseMemory(database)
  const followClock = makeClockWatch(measure, logger)
  await followClock()
  if (redis) await warnOfLoss(redis, logger)
  const tasks = [
    { name: 'state memory', everySeconds: MEMORY_LOOK_SECONDS, run: stateMemory.look },
    { name: 'clock', everySeconds: CLOCK_READ_SECONDS, run: followClock },
  ]
  const open = opening.move()
  return {
    database,
    state,
    /** The time for every decision that processes have to agree on. */
    now,
    /** Since when the OAuth state has lost nothing. */
    stateMemory,
    /** For counts; undefined without Redis. */
    redis,
    tasks,
    /** Rejects when one of them does not answer in time. */
    ping: async () => void (await Promise.all([database.ping(), state.ping()])),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** State in the database loses nothing, but restoring a backup ends everything (oauth/grants/end-grants.ts). */
async function openDatabaseMemory({ kysely }: Database) {
  const row = await kysely
    .selectFrom('setting')
    .select('value')
    .where('name', '=', EVERYTHING_ENDED)
    .executeTakeFirst()
  const sinceMs = Number(row?.value ?? 0)
  return { since: () => sinceMs, look: async () => {} }
}

/** Opens the configured database, for the service or for a command. */
export async function openServiceDatabase(
  settings: StoreSettings,
  { connectionsMax, ...options }: DatabaseOptions & { readonly connectionsMax?: number } = {},
): Promise<Database> {
  return await openDatabase(locationOf(settings, connectionsMax), {
    answerWithinMs: settings.storage.answerWithinMs,
    migrations: settings.migrateAtStart ? 'apply' : 'refuse',
    ...options,
  })
}

/** Returns where the configured database is. */
export function locationOf(
  { dataDir, databaseUrl: url, storage }: Omit<StoreSettings, 'redis' | 'migrateAtStart'>,
  connectionsMax = storage.databaseConnectionsMax,
): DatabaseLocation {
  if (url) return { kind: 'postgres', url, connectionsMax }
  return { kind: 'sqlite', file: join(dataDir, 'gatehouse.db') }
}

const ANSWER_WITHIN_MS = 300

/** Opens a database and migrates its schema. Loads only the driver it needs. */
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

/** Reads which migrations opening a database would apply, without creating or changing it. */
export async function readSchemaStatus(location: DatabaseLocation): Promise<MigrationStatus> {
  if (location.kind === 'sqlite') {
    const { readSqliteStatus } = await import('./sqlite.ts')
    return await readSqliteStatus(location.file)
  }
  const { readPostgresStatus } = await import('./postgres.ts')
  return await readPostgresStatus(location.url)
}
