import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import BetterSqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  sql,
} from 'kysely'

import type { RunStatement } from './compiled.ts'
import type { Database, EngineOptions } from './database.ts'
import { openKysely } from './guarded-stores.ts'
import {
  type MigrationSession,
  type MigrationStatus,
  migrate,
  readMigrationStatus,
} from './migrate.ts'

/** How long opening waits while another process migrates the file. */
const MIGRATION_TIMEOUT_MS = 30_000

const LOCKED_RETRY_MS = 5

/**
 * The part of the file that is read through memory mapping, up to SQLite's maximum of 2 GiB. Without it, each page outside
 * of SQLite's cache of 16 MB is a system call, so requests cost more the larger the file is.
 */
const MAPPED_BYTES_MAX = 2 ** 31

/**
 * Opens a database file, which several processes on a host may share, and migrates it. Every acknowledged write is
 * durable. Calls are synchronous, so a write by another process blocks this process for up to `answerWithinMs`.
 */
export async function openSqlite(file: string, options: EngineOptions): Promise<Database> {
  if (file !== ':memory:') createPrivately(file)
  const connection = new BetterSqlite(file, { timeout: MIGRATION_TIMEOUT_MS })
  try {
    await useWriteAheadLog(connection)
    connection.pragma('synchronous = FULL')
    connection.pragma('foreign_keys = ON')
    connection.pragma(`mmap_size = ${MAPPED_BYTES_MAX}`)
    await migrate(migrationSession(connection), options)
    connection.pragma(`busy_timeout = ${options.answerWithinMs}`)
  } catch (error) {
    connection.close()
    throw error
  }

  const prepare = cacheStatements(connection)
  const database = { prepare, close: () => void connection.close() }
  const turn = new StatementsOfTurn(connection, prepare)
  const kysely = openKysely({
    ...{ store: 'sqlite', dialect: new SqliteDialect({ database }) },
    driver: new WritingSqliteDriver(connection, { database, turn }),
    run: turn.run,
    guard: options.guard,
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

/** A statement that waits for the end of this turn of the event loop. */
interface Waiting {
  readonly statement: BetterSqlite.Statement<unknown[]>
  readonly parameters: readonly unknown[]
  readonly settle: PromiseWithResolvers<QueryResult<never>>
}

/**
 * Runs the statements of one turn of the event loop together, on the only connection: first all that read, then all
 * that write, so that these wait for the disk once. The responses of the turn then leave together, too; a response
 * alone would wake its client, which costs as much as a query.
 *
 * A second connection would be worse: its waits would block the process, and each write on the first connection would
 * invalidate its page cache.
 */
class StatementsOfTurn {
  readonly #connection: BetterSqlite.Database
  readonly #prepare: (text: string) => BetterSqlite.Statement<unknown[]>
  #waiting: Waiting[] = []

  constructor(
    connection: BetterSqlite.Database,
    prepare: (text: string) => BetterSqlite.Statement<unknown[]>,
  ) {
    this.#connection = connection
    this.#prepare = prepare
  }

  /** Returns undefined during a transaction, of which the statement would become a part: Kysely makes it wait. */
  readonly run: RunStatement = ({ sql: text, parameters }) => {
    // Let Kysely report a closed connection, because the driver's error would look like a bug.
    if (this.#connection.inTransaction || !this.#connection.open) return
    const settle = Promise.withResolvers<QueryResult<never>>()
    if (this.#waiting.length === 0) setImmediate(() => this.flush())
    this.#waiting.push({ statement: this.#prepare(text), parameters, settle })
    return settle.promise
  }

  /** Runs what waits. A transaction calls this before it begins. */
  flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const reads = waiting.filter(({ statement }) => statement.readonly)
    this.#runTogether('begin', reads)
    if (reads.length < waiting.length) {
      this.#runTogether(
        'begin immediate',
        waiting.filter(({ statement }) => !statement.readonly),
      )
    }
  }

  #runTogether(begin: string, statements: readonly Waiting[]): void {
    const settled: (() => void)[] = []
    try {
      if (statements.length > 1) this.#prepare(begin).run()
      for (const waiting of statements) settled.push(this.#runOne(waiting))
      if (statements.length > 1) this.#prepare('commit').run()
    } catch (error) {
      if (this.#connection.inTransaction) this.#prepare('rollback').run()
      for (const { settle } of statements) settle.reject(error)
      return
    }
    for (const settle of settled) settle()
  }

  /** Returns a function that settles the statement, after the commit. @throws if SQLite rolled back the transaction */
  #runOne({ statement, parameters, settle }: Waiting): () => void {
    const { inTransaction } = this.#connection
    try {
      const result = resultOf(statement, parameters)
      return () => settle.resolve(result)
    } catch (error) {
      if (inTransaction && !this.#connection.inTransaction) throw error
      return () => settle.reject(error)
    }
  }
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
    return await readMigrationStatus(migrationSession(connection))
  } finally {
    connection.close()
  }
}

/** Creates the file for its owner only, because the database contains password hashes. */
function createPrivately(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  closeSync(openSync(file, 'a', 0o600))
}

function migrationSession(connection: BetterSqlite.Database): MigrationSession {
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
 * A driver that takes the write lock at the start of each transaction. Otherwise, a transaction that reads before it
 * writes would fail with SQLITE_BUSY_SNAPSHOT if another process wrote in between.
 */
class WritingSqliteDriver extends SqliteDriver {
  readonly #connection: BetterSqlite.Database
  readonly #turn: StatementsOfTurn

  constructor(
    connection: BetterSqlite.Database,
    { database, turn }: { database: SqliteDatabase; turn: StatementsOfTurn },
  ) {
    super({ database })
    this.#connection = connection
    this.#turn = turn
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    this.#turn.flush()
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  /** Rolls back, unless SQLite has already done so, as with a full disk. A second error would hide the first. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#connection.inTransaction) await super.rollbackTransaction(connection)
  }
}

const STATEMENTS_MAX = 500

/** Caches the few distinct prepared statements. Preparing most queries takes longer than running them. */
function cacheStatements(
  connection: BetterSqlite.Database,
): (text: string) => BetterSqlite.Statement<unknown[]> {
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
