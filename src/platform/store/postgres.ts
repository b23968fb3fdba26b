import {
  type CompiledQuery,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  SelectQueryNode,
  sql,
} from 'kysely'
import pg from 'pg'

import type { Database, DatabaseLocation, EngineOptions } from './database.ts'
import { openKysely } from './guarded-stores.ts'
import {
  type MigrateOptions,
  type MigrationSession,
  type MigrationStatus,
  migrate,
  readMigrationStatus,
} from './migrate.ts'
import { makePatience, type Patience } from './patience.ts'
import { Pipelines } from './postgres-pipelines.ts'
import { answerTo, type Query, sendQuery } from './postgres-query.ts'
import type { RunStatement } from './statement-executor.ts'
import { refuseUnfinished } from './unfinished-restore.ts'

type PostgresLocation = Extract<DatabaseLocation, { kind: 'postgres' }>

const MIGRATION_CONNECT_TIMEOUT_MS = 10_000
const MIGRATION_QUERY_TIMEOUT_MS = 60_000
const CLOSE_TIMEOUT_MS = 1_000

/** Whoever serves waits behind a migration that waits for a table, and gives up after 250 ms. */
const MIGRATION_LOCK_WAIT_MS = 100
const LOCK_NOT_AVAILABLE = '55P03'

/** The key of the advisory lock under which one process at a time migrates: "gate" in ASCII. */
const MIGRATION_LOCK = 0x67617465

const INT8_OID = 20

/** BIGINT as a number: epoch milliseconds and counts stay far below 2^53. For this pool only. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
}

/**
 * A PostgreSQL server. Whatever happens to it, a query is answered or refused within its timeout,
 * and once the server is back so is the next query.
 */
export async function openPostgres(
  location: PostgresLocation,
  options: EngineOptions,
): Promise<Database> {
  await migrateServer(location.url, options)

  const { queryTimeoutMs, onIdleError } = options
  const patience = makePatience(queryTimeoutMs)
  const config: pg.ClientConfig = {
    connectionString: location.url,
    // Longer than anybody waits for it, so that one which is merely late serves who comes next.
    connectionTimeoutMillis: 2 * queryTimeoutMs,
    keepAlive: true,
    types,
  }
  // The server gives up a little earlier, so that a query which is merely slow (or waits for a
  // lock) is cancelled there too and its connection survives. It is said after connecting and
  // not in the startup packet, which poolers refuse.
  const onConnect = async (client: pg.ClientBase) => {
    const text = `set statement_timeout = ${Math.ceil(queryTimeoutMs * 0.9)}`
    await answerTo(client, { text }, { patience })
  }
  const pipelineCount = pipelinesWithin(location.connectionsMax)
  const pool = new pg.Pool({ ...config, onConnect, max: location.connectionsMax - pipelineCount })
  // Without a listener, an idle connection that the server closes would end this process.
  pool.on('error', (error) => onIdleError?.(error))
  // The same while a connection is in use and the pool does not listen, between two queries of a
  // transaction for example. Whoever uses it learns of it from the next query.
  pool.on('connect', (client) => client.on('error', () => {}))
  const pipelines = new Pipelines(pipelineCount, { config, patience, onConnect, onIdleError })

  const dialect = new PostgresDialect({ pool: poolForKysely(pool, patience) })
  const run = statementRunner(pool, pipelines, patience)
  const kysely = openKysely(dialect, { store: 'postgres', run }, options.guard)
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

/** How many of the connections several requests may use at once; the pool needs one at least. */
function pipelinesWithin(connectionsMax: number): number {
  return Math.min(PIPELINES_MAX, Math.floor(connectionsMax / 2))
}

/** What reads goes where it costs least; what writes may have to wait, and has a connection to itself. */
function statementRunner(pool: pg.Pool, pipelines: Pipelines, patience: Patience): RunStatement {
  return async <Row>({ sql: text, parameters, query }: CompiledQuery<Row>) => {
    const sent = { text, values: [...parameters] }
    // Kysely takes what a `with` clause contains for a part of a select, writing included.
    const reads = SelectQueryNode.is(query) && query.with === undefined && pipelines.count > 0
    const result = await (reads ? pipelines.send(sent) : sendAlone(pool, sent, patience))
    return {
      rows: result.rows as Row[],
      ...(reads ? {} : { numAffectedRows: BigInt(result.rowCount ?? 0) }),
    }
  }
}

async function sendAlone(pool: pg.Pool, query: Query, patience: Patience): Promise<pg.QueryResult> {
  const until = patience.limit()
  const client = await acquire(pool, patience, until)
  let unusable = false
  const onUnusable = () => {
    unusable = true
  }
  try {
    return await sendQuery(client, query, { patience, until, onUnusable })
  } finally {
    client.release(unusable)
  }
}

/** Saying goodbye to a server that does not answer must not hold up the end of the process. */
async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, timeoutMs)
  await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

/**
 * The pool as Kysely sees it. A query that was given up leaves its connection in an unknown state
 * (the answer may still come, a transaction may be open), so that connection is never used again:
 * what else is asked of it, a rollback for example, fails at once, and releasing it closes it.
 */
function poolForKysely(pool: pg.Pool, patience: Patience): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const until = patience.limit()
      return guarded(await acquire(pool, patience, until), patience, until)
    },
  }
}

/** A place in the queue and a new connection after it share one limit. */
function acquire(pool: pg.Pool, patience: Patience, until: number): Promise<pg.PoolClient> {
  return new Promise((resolve, reject) => {
    let late = false
    const giveUp = () => {
      late = true
      reject(new Error('PostgreSQL gave no connection in time.'))
    }
    const wait = patience.wait(giveUp, until)
    pool.connect((error, client) => {
      patience.stop(wait)
      if (!client) reject(error)
      else if (late) client.release()
      else resolve(client)
    })
  })
}

function guarded(client: pg.PoolClient, patience: Patience, until: number): PostgresPoolClient {
  let broken: unknown
  // Waiting for a connection and its first query share the limit too: the caller waits once.
  let firstUntil: number | undefined = until
  const query = async (text: string, values: readonly unknown[]) => {
    if (broken !== undefined) throw broken
    const limit = firstUntil
    firstUntil = undefined
    return await sendQuery(
      client,
      { text, values: [...values] },
      {
        patience,
        until: limit,
        onUnusable: (error) => {
          broken = error
        },
      },
    )
  }
  return {
    // Kysely's second form, for cursors, is never used without its `cursor` option.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(broken !== undefined || destroy === true),
  }
}

/** Migrations may take longer than queries, so they have a connection of their own. */
async function migrateServer(url: string, options: EngineOptions): Promise<void> {
  const { onIdleError, migrationTimeoutMs = MIGRATION_QUERY_TIMEOUT_MS } = options
  await withClient(url, { onIdleError, timeoutMs: migrationTimeoutMs }, async (client) => {
    if (!options.finishesRestore) await refuseUnfinished(client)
    await migrate(migrationSession(client), options)
  })
}

/** What a start would do to a database, which is not changed. */
export async function readPostgresStatus(
  url: string,
  options: Pick<MigrateOptions, 'migrationsFolder'>,
): Promise<MigrationStatus> {
  return await withClient(url, { timeoutMs: MIGRATION_QUERY_TIMEOUT_MS }, async (client) => {
    await refuseUnfinished(client)
    return await readMigrationStatus(migrationSession(client), options)
  })
}

/**
 * A connection of one's own, for what takes longer than a query.
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
    connectionTimeoutMillis: MIGRATION_CONNECT_TIMEOUT_MS,
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
    record: ({ name, digest }, appliedAtMs) =>
      client.query('insert into schema_migration (name, digest, applied_at) values ($1, $2, $3)', [
        name,
        digest,
        appliedAtMs,
      ]),
    isLockTimeout: (error) =>
      error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE,
  }
}
