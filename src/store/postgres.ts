import { PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely'
import pg from 'pg'

import type { Database, DatabaseLocation, EngineOptions } from './database.ts'
import { openKysely } from './guarded-stores.ts'
import { type MigrationSession, migrate } from './migrate.ts'

type PostgresLocation = Extract<DatabaseLocation, { kind: 'postgres' }>

const MIGRATION_CONNECT_TIMEOUT_MS = 10_000
const MIGRATION_QUERY_TIMEOUT_MS = 60_000
const CLOSE_TIMEOUT_MS = 1_000

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

  const { queryTimeoutMs } = options
  const pool = new pg.Pool({
    connectionString: location.url,
    max: location.connectionsMax,
    connectionTimeoutMillis: queryTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    types,
    // The server gives up a little earlier, so that a query which is merely slow (or waits for a
    // lock) is cancelled there too and its connection survives. It is said after connecting and
    // not in the startup packet, which poolers refuse.
    onConnect: async (client: pg.ClientBase) => {
      await client.query(`set statement_timeout = ${Math.ceil(queryTimeoutMs * 0.9)}`)
    },
  })
  // Without a listener, an idle connection that the server closes would end this process.
  pool.on('error', (error) => options.onIdleError?.(error))
  // The same while a connection is in use and the pool does not listen, between two queries of a
  // transaction for example. Whoever uses it learns of it from the next query.
  pool.on('connect', (client) => client.on('error', () => {}))

  const dialect = new PostgresDialect({ pool: withDeadlines(pool, queryTimeoutMs) })
  const kysely = openKysely(dialect, options.guard)
  return {
    kysely,
    engine: 'postgres',
    ping: async () => void (await sql`select 1`.execute(kysely)),
    [Symbol.asyncDispose]: () => within(CLOSE_TIMEOUT_MS, pool.end()),
  }
}

/** Saying goodbye to a server that does not answer must not hold up the end of the process. */
async function within(timeoutMs: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, timeoutMs)
  await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

/**
 * The pool as Kysely sees it. A query that was given up leaves its connection in an unknown state
 * (the answer may still come, a transaction may be open), so that connection is never used again:
 * what else is asked of it, a rollback for example, fails at once, and releasing it closes it.
 */
function withDeadlines(pool: pg.Pool, queryTimeoutMs: number): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const deadlineMs = performance.now() + queryTimeoutMs
      return guarded(await acquire(pool, queryTimeoutMs), deadlineMs)
    },
  }
}

/** A place in the queue and a new connection after it share one timeout. */
async function acquire(pool: pg.Pool, timeoutMs: number): Promise<pg.PoolClient> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new Error(`PostgreSQL gave no connection within ${timeoutMs} ms.`)),
    timeoutMs,
  )
  let late = false
  const connected = pool.connect().then((client) => {
    if (late) client.release()
    return client
  })
  try {
    return await Promise.race([connected, promise])
  } catch (error) {
    late = true
    connected.catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * feature_not_supported: a table was changed, by the migration of a newer version for example, after
 * this connection had prepared a query on it. The query is sent again without a name, and the
 * connection is replaced by one that prepares everything anew.
 */
function isStalePlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '0A000'
}

const PREPARED_MAX = 500
const preparedNames = new Map<string, string>()

/**
 * The name under which a connection prepares a query once: planning a join of five tables takes the
 * server several times as long as running it. Texts are few, except those of lists, whose length
 * varies; the first ones get a name, and any further ones are sent as they are.
 */
function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text)
  if (known !== undefined || preparedNames.size >= PREPARED_MAX) return known
  const name = `gatehouse_${preparedNames.size}`
  preparedNames.set(text, name)
  return name
}

/** The least time that a first query is given after a long wait for its connection. */
const FIRST_QUERY_TIMEOUT_MIN_MS = 50

function guarded(client: pg.PoolClient, deadlineMs: number): PostgresPoolClient {
  let broken: unknown
  // Waiting for a connection and its first query share the timeout too: the caller waits once.
  let firstTimeoutMs: number | undefined = Math.ceil(
    Math.max(FIRST_QUERY_TIMEOUT_MIN_MS, deadlineMs - performance.now()),
  )
  const query = async (text: string, values: readonly unknown[]) => {
    if (broken !== undefined) throw broken
    const limit = firstTimeoutMs === undefined ? {} : { query_timeout: firstTimeoutMs }
    firstTimeoutMs = undefined
    return await send(client, { text, values: [...values], ...limit }, (error) => {
      broken = error
    })
  }
  return {
    // Kysely's second form, for cursors, is never used without its `cursor` option.
    query: query as unknown as PostgresPoolClient['query'],
    release: (destroy) => client.release(broken !== undefined || destroy === true),
  }
}

/** Sends a query under its name; `onBroken` hears when the connection must not be used again. */
async function send(
  client: pg.PoolClient,
  query: pg.QueryConfig,
  onBroken: (error: unknown) => void,
) {
  const name = preparedName(query.text)
  try {
    return await client.query(name === undefined ? query : { ...query, name })
  } catch (error) {
    const stale = isStalePlan(error)
    // Only an answer of the server says that the connection is still in step with it.
    if (stale || !(error instanceof pg.DatabaseError)) onBroken(error)
    if (!stale) throw error
    // It did nothing, so that it may be sent again; only in a transaction that is refused.
    return await client.query(query)
  }
}

/** Migrations may take longer than queries, so they have a connection of their own. */
async function migrateServer(url: string, options: EngineOptions): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: MIGRATION_CONNECT_TIMEOUT_MS,
    query_timeout: MIGRATION_QUERY_TIMEOUT_MS,
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
    await migrate(migrationSession(client), options)
  } finally {
    await within(CLOSE_TIMEOUT_MS, client.end())
  }
}

function migrationSession(client: pg.Client): MigrationSession {
  return {
    engine: 'postgres',
    run: (script) => client.query(script),
    rowsOf: async (query) => (await client.query(query)).rows,
    begin: `begin; select pg_advisory_xact_lock(${MIGRATION_LOCK})`,
    findTable: "select 1 where to_regclass('schema_migration') is not null",
    record: ({ name, digest }, appliedAtMs) =>
      client.query('insert into schema_migration (name, digest, applied_at) values ($1, $2, $3)', [
        name,
        digest,
        appliedAtMs,
      ]),
  }
}
