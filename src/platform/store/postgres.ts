import { setTimeout as delay } from 'node:timers/promises'

import { type CompiledQuery, PostgresDialect, type PostgresPoolClient, sql } from 'kysely'
import pg from 'pg'

import type { RunStatement } from './compiled-queries.ts'
import type { Database, DatabaseLocation, EngineOptions } from './database.ts'
import { openKysely } from './guarded-stores.ts'
import {
  type MigrationSession,
  type MigrationStatus,
  migrate,
  readMigrationStatus,
} from './migrate.ts'
import {
  beforeLimit,
  openPipelines,
  type Pipelines,
  queryInTime,
  sendQuery,
} from './postgres-connections.ts'
import { BUSY_LIMITS_MAX, batchWritesOfThisTurn, StorageTimeout } from './storage-timeout.ts'

type PostgresLocation = Extract<DatabaseLocation, { kind: 'postgres' }>

const CONNECT_TIMEOUT_MS = 10_000
const MIGRATION_TIMEOUT_MS = 60_000
const CLOSE_TIMEOUT_MS = 1_000
/** The maximum number of shared connections for reads. The same maximum applies to writes. */
const LANES_MAX = 2
/**
 * The maximum number of writes in flight on a shared connection. Low, because the server commits these writes one after
 * the other, and a write that waits for a lock delays those behind it. Further writes use connections from the pool.
 */
const WRITES_OF_LANE_MAX = 4

/** How long a migration waits for a lock. Short, because requests queue up behind the migration and soon time out. */
const MIGRATION_LOCK_WAIT_MS = 100
const LOCK_NOT_AVAILABLE = '55P03'

/** The id of the advisory lock for migrations: "gate" in ASCII. */
const MIGRATION_LOCK = 0x67617465

const INT8_OID = 20

/** Type parsers for these connections: BIGINT becomes a number. Times and counts stay far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
}

/**
 * Migrates and opens a database on a PostgreSQL server. Queries never take longer than the limits of `StorageTimeout`,
 * even if the server is down. After an outage, queries normally succeed within a second.
 */
export async function openPostgres(
  location: PostgresLocation,
  options: EngineOptions,
): Promise<Database> {
  await migrateServer(location.url, options)

  const { answerWithinMs, onIdleError } = options
  const timeout = new StorageTimeout(answerWithinMs)
  const config: pg.ClientConfig = {
    connectionString: location.url,
    // Longer than most callers wait, because a connection that opens slowly can serve a later caller.
    connectionTimeoutMillis: BUSY_LIMITS_MAX * answerWithinMs,
    keepAlive: true,
    types,
  }
  // While the server responds to other queries, it cancels a slow query before this process gives up, so the connection
  // survives. Set this after connecting, because poolers reject it in the startup packet.
  const onConnect = async (client: pg.ClientBase) => {
    const text = `set statement_timeout = ${Math.ceil(BUSY_LIMITS_MAX * answerWithinMs * 0.9)}`
    await queryInTime(client, { text }, { timeout })
  }
  const { connectionsMax } = location
  const lanes = { config, timeout, onConnect, onIdleError }
  const reads = openPipelines(Math.min(LANES_MAX, Math.floor(connectionsMax / 2)), lanes)
  const writes = openPipelines(Math.min(LANES_MAX, Math.floor(connectionsMax / 4)), lanes)
  const max = connectionsMax - reads.count - writes.count
  const pool = new pg.Pool({ ...config, onConnect, max, pipeline: true })
  // Listen for errors, because a closed idle connection without a listener would crash this process.
  pool.on('error', (error) => onIdleError?.(error))
  // The pool does not listen to connections in use. Ignore their errors here, because the next query reports them.
  pool.on('connect', (client) => client.on('error', () => {}))

  const dialect = new PostgresDialect({
    pool: {
      options: pool.options,
      end: () => pool.end(),
      connect: () => connectGuarded(pool, timeout),
    },
  })
  const kysely = openKysely({
    ...{ store: 'postgres', dialect, driver: dialect.createDriver() },
    run: statementRunner(pool, reads, writes, timeout),
    guard: options.guard,
  })
  return {
    kysely,
    engine: 'postgres',
    connections: () => ({
      open: pool.totalCount + reads.countOpen() + writes.countOpen(),
      waiting: pool.waitingCount,
    }),
    ping: async () => void (await sql`select 1`.execute(kysely)),
    async [Symbol.asyncDispose]() {
      await closed(Promise.all([pool.end(), reads.end(), writes.end()]))
    },
  }
}

/**
 * Creates a runner that sends statements through shared connections or, if none is free, through the pool. Reads and
 * writes use separate shared connections, because a write may wait for a lock.
 */
function statementRunner(
  pool: pg.Pool,
  reads: Pipelines,
  writes: Pipelines,
  timeout: StorageTimeout,
): RunStatement {
  const sendAlone = async (text: string, values: unknown[]) => {
    const client = await connectGuarded(pool, timeout)
    try {
      return await client.query(text, values)
    } finally {
      client.release()
    }
  }
  return async <Row>({ sql: text, parameters }: CompiledQuery<Row>) => {
    const values = [...parameters]
    const isRead = SELECT.test(text)
    const lane = isRead ? reads.freest() : writes.freest(WRITES_OF_LANE_MAX)
    const result = await (lane ? lane.send({ text, values }) : sendAlone(text, values))
    return {
      rows: result.rows as Row[],
      ...(isRead ? {} : { numAffectedRows: BigInt(result.rowCount ?? 0) }),
    }
  }
}

/** Matches statements that only read. Excludes statements with a `with` clause, which may contain writes. */
const SELECT = /^\s*select\s/

/** Waits for a close operation up to a time limit, because an unresponsive server must not block the exit. */
async function closed(work: Promise<unknown>): Promise<void> {
  await Promise.race([work, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
}

/**
 * Takes a connection from the pool for Kysely. After a query times out, further queries on the connection, such as a
 * rollback, fail at once, and releasing the connection closes it. `begin` is sent together with the next statement.
 * After a failed statement, all later statements up to the rollback fail with its error, even if no caller waited for
 * the response. PostgreSQL itself responds to `commit` in a failed transaction without an error.
 */
async function connectGuarded(pool: pg.Pool, timeout: StorageTimeout) {
  // Apply one time limit to acquiring the connection and running the first query, so callers do not wait twice.
  let firstUntil: number | undefined = timeout.limit()
  const connecting = pool.connect()
  const client = await beforeLimit(connecting, timeout, firstUntil).catch((error: unknown) => {
    // If the connection opens after the limit, return it to the pool.
    void connecting.then((late) => late.release()).catch(() => {})
    throw error
  })
  let broken: unknown
  let failed: { readonly error: unknown } | undefined
  const query = async (
    text: string,
    values: readonly unknown[],
  ): Promise<Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>> => {
    if (broken !== undefined) throw broken
    const until = firstUntil
    firstUntil = undefined
    const onUnusable = (error: unknown) => {
      broken = error
    }
    batchWritesOfThisTurn(client.connection.stream)
    const sent = sendQuery(client, { text, values: [...values] }, { timeout, until, onUnusable })
    sent.catch((error: unknown) => {
      failed ??= { error }
    })
    if (text === 'begin') return { command: 'BEGIN', rowCount: 0, rows: [] }
    const result = await sent.catch((error: unknown) => {
      throw failed?.error ?? error
    })
    if (text.startsWith('rollback')) failed = undefined
    if (failed) throw failed.error
    return result
  }
  return {
    // Kysely's overload for cursors is only used with its `cursor` option.
    query: query as typeof query & PostgresPoolClient['query'],
    release: (destroy?: boolean) => client.release(broken !== undefined || destroy === true),
  }
}

/** Migrates on a separate connection. @throws if a restore is unfinished, unless `finishesRestore` is set */
async function migrateServer(url: string, options: EngineOptions): Promise<void> {
  const { onIdleError, migrationTimeoutMs: timeoutMs = MIGRATION_TIMEOUT_MS } = options
  await withClient(url, { onIdleError, timeoutMs }, async (client) => {
    if (!options.finishesRestore) await refuseUnfinished(client)
    await migrate(postgresSession(client), options)
  })
}

export async function readPostgresStatus(url: string): Promise<MigrationStatus> {
  return await withClient(url, { timeoutMs: MIGRATION_TIMEOUT_MS }, async (client) => {
    await refuseUnfinished(client)
    return await readMigrationStatus(postgresSession(client))
  })
}

/** Opens a separate connection for a long operation, and closes it after `work`. `timeoutMs` limits each statement. */
export async function withClient<Result>(
  url: string,
  options: {
    readonly timeoutMs: number
    readonly onIdleError?: ((error: Error) => void) | undefined
  },
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: options.timeoutMs,
  })
  client.on('error', (error) => options.onIdleError?.(error))
  try {
    await client.connect()
  } catch (cause) {
    const refusal = cause instanceof pg.DatabaseError && `refused the connection: ${cause.message}`
    const problem = refusal || 'cannot be reached'
    throw new Error(`PostgreSQL at ${client.host}:${client.port} ${problem}.`, { cause })
  }
  try {
    return await work(client)
  } finally {
    await closed(client.end())
  }
}

function postgresSession(client: pg.Client): MigrationSession {
  return {
    engine: 'postgres',
    run: (script) => client.query(script),
    rowsOf: async (query) => (await client.query(query)).rows,
    begin: `begin; select pg_advisory_xact_lock(${MIGRATION_LOCK}); set local lock_timeout = ${MIGRATION_LOCK_WAIT_MS}`,
    findTable: "select 1 where to_regclass('schema_migration') is not null",
    isLockTimeout: (error) =>
      error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE,
  }
}

/**
 * The name of a table that exists while a backup is being restored. In the restored dump, grants that were revoked
 * after the backup are still active. Until the restore is finished, the service rejects the database, because a
 * supervisor may restart the service at any time.
 */
export const UNFINISHED_RESTORE = 'restore_not_finished'

/** Rejects a database whose restore is unfinished. @throws an error that tells the operator what to do */
export async function refuseUnfinished(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select 1 where to_regclass('${UNFINISHED_RESTORE}') is not null`,
  )
  if (rows.length > 0) throw new Error(RESTORE_NOT_FINISHED)
}

export const RESTORE_NOT_FINISHED =
  'A restore into this database is running or was interrupted. Wait until it is finished, or drop the ' +
  'database and restore into a new one.'
