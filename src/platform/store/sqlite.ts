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

/** How long a start waits for another process that migrates the same file. */
const MIGRATION_TIMEOUT_MS = 30_000

const LOCKED_RETRY_MS = 5

/**
 * Opens one file, durable to the last acknowledged write, that several processes of a host may share.
 * Calls are synchronous, so `answerWithinMs` is also the longest time that this process is blocked
 * while another one writes.
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
    driver: new WritingSqliteDriver({ database }),
    run: statementRunner(connection, database),
    guard: options.guard,
  })
  return {
    kysely,
    engine: 'sqlite',
    ping: async () => void (await sql`select 1`.execute(kysely)),
    async [Symbol.asyncDispose]() {
      await kysely.destroy()
      // Kysely closes the connection only if it made a query.
      connection.close()
    },
  }
}

/**
 * Runs a statement at once on the only connection, unless a transaction is open on it, of which the
 * statement would become a part: Kysely makes it wait for the end of the transaction. A second connection
 * would block this process while it waits for that same transaction, and lose its cached pages at
 * each write of the other.
 */
function statementRunner(
  connection: Pick<BetterSqlite.Database, 'inTransaction' | 'open'>,
  database: SqliteDatabase,
): RunStatement {
  return <Row>(query: CompiledQuery<Row>) =>
    // Kysely reports a closed connection; the driver throws an error that looks like a bug.
    connection.inTransaction || !connection.open ? undefined : runStatement<Row>(database, query)
}

async function runStatement<Row>(
  database: SqliteDatabase,
  { sql: text, parameters }: CompiledQuery<Row>,
): Promise<QueryResult<Row>> {
  const statement = database.prepare(text)
  if (statement.reader) return { rows: statement.all(parameters) as Row[] }
  const { changes } = statement.run(parameters)
  return { rows: [], numAffectedRows: BigInt(changes) }
}

/** While the last other process closes the file, SQLite reports it as locked at once, whatever its timeout is. */
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

/** Reads what a start would do to a file, which is neither created nor changed. */
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

/** The file has password hashes, so only its owner can read it, from its first byte on. */
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
    // The connection itself waits for the lock of the file.
    isLockTimeout: () => false,
  }
}

/**
 * Takes the write lock at the start of a transaction. A transaction that first reads and then writes
 * is rejected at once with SQLITE_BUSY_SNAPSHOT, without waiting, when another process wrote in between.
 */
class WritingSqliteDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

const STATEMENTS_MAX = 500

/** Preparing costs more than running for most of our queries, and their texts are few. */
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
