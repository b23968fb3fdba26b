import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import BetterSqlite from 'better-sqlite3'
import {
  CompiledQuery,
  type DatabaseConnection,
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
    await migrate(migrationSession(connection), options)
    connection.pragma(`busy_timeout = ${options.answerWithinMs}`)
  } catch (error) {
    connection.close()
    throw error
  }

  const database = withStatementCache(connection)
  const kysely = openKysely({
    ...{ store: 'sqlite', dialect: new SqliteDialect({ database }) },
    driver: new WritingSqliteDriver(connection, database),
    run: statementRunner(connection, database),
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

/**
 * Creates a runner for statements on the only connection. During a transaction, such a statement would become part of
 * the transaction, so Kysely makes the statement wait. A second connection would be worse: its waits would block the
 * process, and each write on the first connection would invalidate its page cache.
 */
function statementRunner(
  connection: Pick<BetterSqlite.Database, 'inTransaction' | 'open'>,
  database: SqliteDatabase,
): RunStatement {
  const run = async <Row>({ sql: text, parameters }: CompiledQuery<Row>) => {
    const statement = database.prepare(text)
    if (statement.reader) return { rows: statement.all(parameters) as Row[] }
    const { changes } = statement.run(parameters)
    return { rows: [], numAffectedRows: BigInt(changes) }
  }
  // Let Kysely report a closed connection, because the driver's error would look like a bug.
  return (query) => (connection.inTransaction || !connection.open ? undefined : run(query))
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

  constructor(connection: BetterSqlite.Database, database: SqliteDatabase) {
    super({ database })
    this.#connection = connection
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  /** Rolls back, unless SQLite has already done so, as with a full disk. A second error would hide the first. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#connection.inTransaction) await super.rollbackTransaction(connection)
  }
}

const STATEMENTS_MAX = 500

/** Caches the few distinct prepared statements. Preparing most queries takes longer than running them. */
function withStatementCache(connection: BetterSqlite.Database): SqliteDatabase {
  const statements = new Map<string, BetterSqlite.Statement<unknown[]>>()
  return {
    prepare(text) {
      const known = statements.get(text)
      if (known && !known.busy) return known
      const statement = connection.prepare<unknown[]>(text)
      if (statements.size >= STATEMENTS_MAX) statements.clear()
      statements.set(text, statement)
      return statement
    },
    close: () => void connection.close(),
  }
}
