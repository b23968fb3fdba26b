import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import BetterSqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type QueryResult,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  sql,
} from 'kysely'

import type { RunStatement } from './compiled-queries.ts'
import type { Database, EngineOptions } from './database.ts'
import { openKysely } from './guarded-stores.ts'
import {
  type MigrationSession,
  type MigrationStatus,
  migrate,
  readMigrationStatus,
} from './migrate.ts'

/** How long to wait if another process is migrating the file when it is opened. */
const MIGRATION_TIMEOUT_MS = 30_000

const LOCKED_RETRY_MS = 5

/**
 * How much of the file is mapped into memory: SQLite's maximum of 2 GiB. Without the mapping, SQLite needs a system
 * call for each page outside its 16 MB cache, so requests become slower as the file grows.
 */
const MAPPED_BYTES_MAX = 2 ** 31

/**
 * Opens a database file, which several processes on a host may share, and migrates it. Every acknowledged write is
 * durable. Calls are synchronous, so a write by another process blocks this process for up to `answerWithinMs`.
 */
export async function openSqlite(file: string, options: EngineOptions): Promise<Database> {
  if (file !== ':memory:') {
    // Make the file accessible to its owner only, because the database contains password hashes.
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    closeSync(openSync(file, 'a', 0o600))
  }
  const connection = new BetterSqlite(file, { timeout: MIGRATION_TIMEOUT_MS })
  try {
    await useWriteAheadLog(connection)
    connection.pragma('synchronous = FULL')
    connection.pragma('foreign_keys = ON')
    connection.pragma(`mmap_size = ${MAPPED_BYTES_MAX}`)
    await migrate(sqliteSession(connection), options)
    connection.pragma(`busy_timeout = ${options.answerWithinMs}`)
  } catch (error) {
    connection.close()
    throw error
  }

  const prepare = cacheStatements(connection)
  const database = { prepare, close: () => void connection.close() }
  const { run, flush } = makeStatementQueue(connection, prepare)
  const kysely = openKysely({
    ...{ store: 'sqlite', dialect: new SqliteDialect({ database }), run, guard: options.guard },
    driver: makeDriver(connection, database, flush),
  })
  return {
    kysely,
    engine: 'sqlite',
    ping: async () => void (await sql`select 1`.execute(kysely)),
    async [Symbol.asyncDispose]() {
      await kysely.destroy()
      // Kysely closes the connection only if it has run a query.
      connection.close()
    },
  }
}

/** A statement that waits for the end of the event loop turn. */
interface Waiting {
  readonly statement: BetterSqlite.Statement<unknown[]>
  readonly parameters: readonly unknown[]
  readonly settle: PromiseWithResolvers<QueryResult<never>>
}

type Prepare = (text: string) => BetterSqlite.Statement<unknown[]>

/**
 * Creates the queue that collects the statements of one event loop turn. At the end of the turn, it runs all reads in
 * one transaction and all writes in another, so the turn waits for the disk only once. All responses are then sent
 * together, because waking a client for each single response costs as much as a query.
 *
 * A second connection would be slower: its waits would block the process, and each write on the first connection would
 * invalidate its page cache.
 */
function makeStatementQueue(connection: BetterSqlite.Database, prepare: Prepare) {
  let waiting: Waiting[] = []

  /** Runs one statement. Returns a function that settles it. @throws if SQLite rolled back the whole transaction */
  const runOne = ({ statement, parameters, settle }: Waiting): (() => void) => {
    const { inTransaction } = connection
    try {
      const result = resultOf(statement, parameters)
      return () => settle.resolve(result)
    } catch (error) {
      if (inTransaction && !connection.inTransaction) throw error
      return () => settle.reject(error)
    }
  }

  /** Runs statements in one transaction, and settles them after the commit. */
  const runTogether = (begin: string, statements: readonly Waiting[]): void => {
    try {
      if (statements.length > 1) prepare(begin).run()
      const settled = statements.map(runOne)
      if (statements.length > 1) prepare('commit').run()
      for (const settle of settled) settle()
    } catch (error) {
      if (connection.inTransaction) prepare('rollback').run()
      for (const { settle } of statements) settle.reject(error)
    }
  }

  /** Runs the waiting statements. Called at the end of a turn, and before each transaction begins. */
  const flush = (): void => {
    const { reads = [], writes = [] } = Object.groupBy(waiting, ({ statement }) =>
      statement.readonly ? 'reads' : 'writes',
    )
    waiting = []
    runTogether('begin', reads)
    runTogether('begin immediate', writes)
  }

  /** Queues a statement. Returns undefined during a transaction, so Kysely waits for the transaction to end. */
  const run: RunStatement = ({ sql: text, parameters }) => {
    // Let Kysely report a closed connection, because the driver's error would look like a bug.
    if (connection.inTransaction || !connection.open) return
    const settle = Promise.withResolvers<QueryResult<never>>()
    if (waiting.length === 0) setImmediate(flush)
    waiting.push({ statement: prepare(text), parameters, settle })
    return settle.promise
  }

  return { run, flush }
}

function resultOf(
  statement: BetterSqlite.Statement<unknown[]>,
  parameters: readonly unknown[],
): QueryResult<never> {
  if (statement.reader) return { rows: statement.all(parameters) as never[] }
  return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) }
}

/** Enables the write-ahead log. Retries, because SQLite ignores its timeout while another process closes the file. */
async function useWriteAheadLog(connection: BetterSqlite.Database): Promise<void> {
  const deadlineMs = performance.now() + MIGRATION_TIMEOUT_MS
  for (;;) {
    try {
      connection.pragma('journal_mode = WAL')
      return
    } catch (error) {
      const isBusy = error instanceof BetterSqlite.SqliteError && error.code === 'SQLITE_BUSY'
      if (!isBusy || performance.now() > deadlineMs) throw error
      await delay(LOCKED_RETRY_MS)
    }
  }
}

export async function readSqliteStatus(file: string): Promise<MigrationStatus> {
  const exists = existsSync(file)
  const connection = new BetterSqlite(exists ? file : ':memory:', {
    readonly: exists,
    timeout: MIGRATION_TIMEOUT_MS,
  })
  try {
    return await readMigrationStatus(sqliteSession(connection))
  } finally {
    connection.close()
  }
}

function sqliteSession(connection: BetterSqlite.Database): MigrationSession {
  return {
    engine: 'sqlite',
    run: async (script) => connection.exec(script),
    rowsOf: async (query) => connection.prepare(query).all(),
    begin: 'begin immediate',
    findTable: "select 1 from sqlite_master where type = 'table' and name = 'schema_migration'",
    // The connection itself waits for the lock, so no retry is needed.
    isLockTimeout: () => false,
  }
}

/**
 * Creates a driver that takes the write lock at the start of each transaction. Otherwise, a transaction that reads
 * before it writes would fail with SQLITE_BUSY_SNAPSHOT if another process wrote in the meantime.
 */
function makeDriver(
  connection: BetterSqlite.Database,
  database: SqliteDatabase,
  flush: () => void,
): SqliteDriver {
  const driver = new SqliteDriver({ database })
  const rollBack = driver.rollbackTransaction.bind(driver)
  driver.beginTransaction = async (used) => {
    flush()
    await used.executeQuery(CompiledQuery.raw('begin immediate'))
  }
  // SQLite itself rolls back after some errors, such as a full disk. A second rollback would fail and hide that error.
  driver.rollbackTransaction = async (used) => {
    if (connection.inTransaction) await rollBack(used)
  }
  return driver
}

const STATEMENTS_MAX = 500

/** Caches prepared statements, because preparing most queries takes longer than running them. */
function cacheStatements(connection: BetterSqlite.Database): Prepare {
  const statements = new Map<string, BetterSqlite.Statement<unknown[]>>()
  return (text) => {
    const known = statements.get(text)
    if (known && !known.busy) return known
    const statement = connection.prepare<unknown[]>(text)
    if (statements.size >= STATEMENTS_MAX) statements.clear()
    statements.set(text, statement)
    return statement
  }
}
