import {
  type CompiledQuery,
  PostgresDialect,
  type PostgresPoolClient,
  SelectQueryNode,
  sql,
} from 'kysely'
import pg from 'pg'

import type { RunStatement } from './compiled.ts'
import type { Database, DatabaseLocation, EngineOptions } from './database.ts'
import { openKysely } from './guarded-stores.ts'
import {
  type MigrationSession,
  type MigrationStatus,
  migrate,
  readMigrationStatus,
} from './migrate.ts'
import { answerTo, Pipelines, sendQuery } from './postgres-connections.ts'
import { StorageTimeout } from './storage-timeout.ts'

type PostgresLocation = Extract<DatabaseLocation, { kind: 'postgres' }>

const CONNECT_TIMEOUT_MS = 10_000
const MIGRATION_TIMEOUT_MS = 60_000
const CLOSE_TIMEOUT_MS = 1_000

/** Requests queue behind a migration that waits for a table, and give up after 250 ms. */
const MIGRATION_LOCK_WAIT_MS = 100
const LOCK_NOT_AVAILABLE = '55P03'

/** The key of the advisory lock under which one process at a time migrates: "gate" in ASCII. */
const MIGRATION_LOCK = 0x67617465

const INT8_OID = 20

/** BIGINT as a number: epoch milliseconds and counts stay far below 2^53. For these connections only. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
}

/**
 * Opens a database on a PostgreSQL server. A query is answered or rejected within `answerWithinMs`,
 * whatever happens to the server, and the next query after its return succeeds.
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
    // Longer than a caller waits for it, so that a late connection serves the next caller.
    connectionTimeoutMillis: 2 * answerWithinMs,
    keepAlive: true,
    types,
  }
  // The server cancels a little earlier, so that the connection survives a query which is merely slow
  // or waits for a lock. Set after connecting, because poolers refuse it in the startup packet.
  const onConnect = async (client: pg.ClientBase) => {
    const text = `set statement_timeout = ${Math.ceil(answerWithinMs * 0.9)}`
    await answerTo(client, { text }, { timeout })
  }
  const pipelineCount = pipelinesWithin(location.connectionsMax)
  const pool = new pg.Pool({ ...config, onConnect, max: location.connectionsMax - pipelineCount })
  // Without a listener, an idle connection that the server closes would end this process.
  pool.on('error', (error) => onIdleError?.(error))
  // The same while a connection is in use and the pool does not listen, between two queries of a
  // transaction for example. The next query reports it.
  pool.on('connect', (client) => client.on('error', () => {}))
  const pipelines = new Pipelines(pipelineCount, { config, timeout, onConnect, onIdleError })

  const dialect = new PostgresDialect({
    pool: {
      options: pool.options,
      end: () => pool.end(),
      connect: () => connectGuarded(pool, timeout),
    },
  })
  const kysely = openKysely({
    ...{ store: 'postgres', dialect, driver: dialect.createDriver() },
    run: statementRunner(pool, pipelines, timeout),
    guard: options.guard,
  })
  return {
    kysely,
    engine: 'postgres',
    connections: () => ({
      open: pool.totalCount + pipelines.openCount,
      waiting: pool.waitingCount,
    }),
    ping: async () => void (await sql`select 1`.execute(kysely)),
    async [Symbol.asyncDispose]() {
      await within(CLOSE_TIMEOUT_MS, Promise.all([pool.end(), pipelines.end()]))
    },
  }
}

const PIPELINES_MAX = 2

/** How many of the connections are pipelines; the pool needs at least one. */
function pipelinesWithin(connectionsMax: number): number {
  return Math.min(PIPELINES_MAX, Math.floor(connectionsMax / 2))
}

/** Sends reads through a pipeline. A write may have to wait, so it gets a connection of its own. */
function statementRunner(
  pool: pg.Pool,
  pipelines: Pipelines,
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
  return async <Row>({ sql: text, parameters, query }: CompiledQuery<Row>) => {
    const values = [...parameters]
    // Kysely takes the content of a `with` clause for a part of a select, writing included.
    const reads = SelectQueryNode.is(query) && query.with === undefined && pipelines.count > 0
    const result = await (reads ? pipelines.send({ text, values }) : sendAlone(text, values))
    return {
      rows: result.rows as Row[],
      ...(reads ? {} : { numAffectedRows: BigInt(result.rowCount ?? 0) }),
    }
  }
}

/** Limits closing, so that a server which does not answer does not block the end of the process. */
async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, timeoutMs)
  await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

/** Takes a connection of the pool. A place in the queue and a new connection share one limit. */
function acquire(pool: pg.Pool, timeout: StorageTimeout, until: number): Promise<pg.PoolClient> {
  return new Promise((resolve, reject) => {
    let late = false
    const giveUp = () => {
      late = true
      reject(new Error('PostgreSQL gave no connection in time.'))
    }
    const wait = timeout.start(giveUp, until)
    pool.connect((error, client) => {
      timeout.stop(wait)
      if (!client) reject(error)
      else if (late) client.release()
      else resolve(client)
    })
  })
}

/** A connection whose results are still those of the driver. */
interface GuardedClient extends Pick<PostgresPoolClient, 'release'> {
  query(text: string, values: readonly unknown[]): Promise<pg.QueryResult>
}

/**
 * Takes a connection of the pool, for Kysely. A query that timed out leaves its connection in an unknown
 * state (the answer may still come, a transaction may be open), so the connection is never used
 * again: further queries, a rollback for example, fail at once, and releasing it closes it.
 */
async function connectGuarded(
  pool: pg.Pool,
  timeout: StorageTimeout,
): Promise<GuardedClient & PostgresPoolClient> {
  // Waiting for a connection and its first query share a limit too: the caller waits once.
  let firstUntil: number | undefined = timeout.limit()
  const client = await acquire(pool, timeout, firstUntil)
  let broken: unknown
  const query: GuardedClient['query'] = async (text, values) => {
    if (broken !== undefined) throw broken
    const until = firstUntil
    firstUntil = undefined
    const onUnusable = (error: unknown) => {
      broken = error
    }
    return await sendQuery(client, { text, values: [...values] }, { timeout, until, onUnusable })
  }
  return {
    // Kysely's second form, for cursors, is never used without its `cursor` option.
    query: query as GuardedClient['query'] & PostgresPoolClient['query'],
    release: (destroy) => client.release(broken !== undefined || destroy === true),
  }
}

/** Migrations may take longer than queries, so they have a connection of their own. */
async function migrateServer(url: string, options: EngineOptions): Promise<void> {
  const { onIdleError, migrationTimeoutMs: timeoutMs = MIGRATION_TIMEOUT_MS } = options
  await withClient(url, { onIdleError, timeoutMs }, async (client) => {
    if (!options.finishesRestore) await refuseUnfinished(client)
    await migrate(migrationSession(client), options)
  })
}

/** Reads what a start would do to a database, which is not changed. */
export async function readPostgresStatus(url: string): Promise<MigrationStatus> {
  return await withClient(url, { timeoutMs: MIGRATION_TIMEOUT_MS }, async (client) => {
    await refuseUnfinished(client)
    return await readMigrationStatus(migrationSession(client))
  })
}

/**
 * Opens a separate connection, for work that takes longer than a query.
 *
 * @param timeoutMs how long one statement may take
 */
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
  } catch (error) {
    throw new Error(`PostgreSQL at ${client.host}:${client.port} cannot be reached.`, {
      cause: error,
    })
  }
  try {
    return await work(client)
  } finally {
    await within(CLOSE_TIMEOUT_MS, client.end())
  }
}

function migrationSession(client: pg.Client): MigrationSession {
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
 * A table that exists in a database for as long as a backup is restored into it. In a restored dump every
 * grant is alive that was revoked since, and a supervisor may restart the service at any time, so nothing
 * uses such a database before the restore has ended those grants.
 */
export const UNFINISHED_RESTORE = 'restore_not_finished'

/** @throws in a sentence, when a restore into this database is under way, or was broken off */
export async function refuseUnfinished(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select 1 where to_regclass('${UNFINISHED_RESTORE}') is not null`,
  )
  if (rows.length > 0) throw new Error(RESTORE_NOT_FINISHED)
}

export const RESTORE_NOT_FINISHED =
  'A restore into this database is under way, or was broken off: wait for its end, or drop the ' +
  'database and restore into a new one.'
