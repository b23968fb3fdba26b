import { join } from 'node:path'

import type { Logger } from 'pino'

import { CLOCK_READ_SECONDS, makeClockWatch, openStoreClock } from './clock.ts'
import type { Database, DatabaseLocation, DatabaseOptions } from './database.ts'
import type { StoreGuard } from './guarded-stores.ts'
import type { MigrationStatus } from './migrate.ts'
import { CODE_MODEL, redisState, type StateStore, sqlState } from './oauth-state.ts'
import type { RedisLocation } from './redis.ts'
import { warnOfLoss } from './redis-durability.ts'
import { EVERYTHING_ENDED, MEMORY_LOOK_SECONDS, openRedisMemory } from './redis-memory.ts'
import { MARK_SECONDS, makeMarking } from './restore-marker.ts'
import { readSetting, writeSetting } from './settings.ts'

export interface StoreSettings {
  /** The folder for the restore marker and, if there is no `databaseUrl`, for the SQLite database. */
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** The Redis server or cluster for OAuth state and shared counts; if undefined, the database stores the state. */
  readonly redis: RedisLocation | undefined
  /** Whether opening the database applies pending migrations. Otherwise, pending migrations cause an error. */
  readonly migrateAtStart: boolean
  readonly service: {
    readonly storage: Readonly<Record<'answerWithinMs' | 'databaseConnectionsMax', number>>
  }
}

/** Opens the stores of a running service. `processes` on this host share `databaseConnectionsMax`. */
export async function openStores(
  settings: StoreSettings,
  { guard, logger }: { readonly guard: StoreGuard; readonly logger: Logger },
  processes = 1,
) {
  const { answerWithinMs, databaseConnectionsMax } = settings.service.storage
  await using opening = new AsyncDisposableStack()
  const database = opening.use(
    await openServiceDatabase(settings, {
      guard,
      onIdleError: ({ message }) => logger.warn({ cause: message }, 'a database connection broke'),
      connectionsMax: Math.max(1, Math.floor(databaseConnectionsMax / processes)),
    }),
  )
  const { now, measure } = await openStoreClock(database)
  const redis =
    settings.redis &&
    (await (await import('./redis.ts')).openRedis(settings.redis, { answerWithinMs }))
  const inDatabase = sqlState(database, { now })
  const inRedis = redis && opening.use(redisState(redis, { now, guard }))
  const state: StateStore = {
    adapterFor: (model) =>
      (model === CODE_MODEL || !inRedis ? inDatabase : inRedis).adapterFor(model),
  }
  const stateMemory = redis
    ? await openRedisMemory(redis, database, now)
    : await openDatabaseMemory(database)
  const followClock = makeClockWatch(measure, logger)
  await followClock()
  if (redis) await warnOfLoss(redis, logger)
  const mark = makeMarking({ database, redis, dataDir: settings.dataDir }, now, logger)
  const tasks = [
    { name: 'state memory', everySeconds: MEMORY_LOOK_SECONDS, run: stateMemory.look },
    { name: 'clock', everySeconds: CLOCK_READ_SECONDS, run: followClock },
    { name: 'restore markers', everySeconds: MARK_SECONDS, run: mark },
  ]
  const checkDatabase = makeDatabaseCheck(database, now)
  const open = opening.move()
  return {
    database,
    state,
    /** The clock for all decisions that must be consistent across processes. */
    now,
    /** `since` returns the time before which OAuth state may have been lost. */
    stateMemory,
    redis,
    tasks,
    /** Rejects if a store does not respond in time, or if the database accepts no writes. */
    ping: async () => void (await Promise.all([checkDatabase(), redis?.ping()])),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** The minimum time between two readiness checks that write to the database. The checks in between only read. */
const WRITE_CHECK_MS = 5000

/** Creates a check that fails while the database cannot write, for example because its disk is full. */
function makeDatabaseCheck({ kysely, ping }: Database, now: () => number) {
  let writtenAtMs = 0
  return async (): Promise<void> => {
    const nowMs = now()
    if (nowMs < writtenAtMs + WRITE_CHECK_MS) return await ping()
    await writeSetting(kysely, 'write_checked', '', nowMs)
    writtenAtMs = nowMs
  }
}

/** Reads when all sessions and grants were last ended together. Earlier OAuth state may be missing. */
async function openDatabaseMemory({ kysely }: Database) {
  const sinceMs = Number((await readSetting(kysely, EVERYTHING_ENDED)) ?? 0)
  return { since: () => sinceMs, look: async () => {} }
}

/** Opens the configured database, for the service or a command. */
export async function openServiceDatabase(
  settings: StoreSettings,
  { connectionsMax, ...options }: DatabaseOptions & { readonly connectionsMax?: number } = {},
): Promise<Database> {
  return await openDatabase(locationOf(settings, connectionsMax), {
    answerWithinMs: settings.service.storage.answerWithinMs,
    migrations: settings.migrateAtStart ? 'apply' : 'refuse',
    ...options,
  })
}

export function locationOf(
  {
    dataDir,
    databaseUrl: url,
    service,
  }: Pick<StoreSettings, 'dataDir' | 'databaseUrl' | 'service'>,
  connectionsMax = service.storage.databaseConnectionsMax,
): DatabaseLocation {
  if (url) return { kind: 'postgres', url, connectionsMax }
  return { kind: 'sqlite', file: join(dataDir, 'gatehouse.db') }
}

const ANSWER_WITHIN_MS = 300

/** Opens a database, and loads only its driver. Applies pending migrations or, with `refuse`, throws if any exist. */
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

/** Returns the pending migrations, and the number of applied ones. Does not create or change the database. */
export async function readSchemaStatus(location: DatabaseLocation): Promise<MigrationStatus> {
  if (location.kind === 'sqlite') {
    const { readSqliteStatus } = await import('./sqlite.ts')
    return await readSqliteStatus(location.file)
  }
  const { readPostgresStatus } = await import('./postgres.ts')
  return await readPostgresStatus(location.url)
}
