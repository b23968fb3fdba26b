import {
  type ConnectionProvider,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
} from 'kysely'

import { type RunStatement, StatementExecutor } from './compiled-queries.ts'
import type { Schema } from './schema.ts'
import type { SqlStore, StoreUse } from './store-use.ts'

/**
 * Runs a store call, for example to convert its errors or to measure it. `isFailure` distinguishes store failures from
 * other errors, such as invalid SQL or a deliberate error response in a transaction.
 */
export type StoreGuard = <Result>(
  call: () => Promise<Result>,
  isFailure: (error: unknown) => boolean,
  use: StoreUse,
) => Promise<Result>

export interface GuardedEngine {
  readonly store: SqlStore
  readonly dialect: Dialect
  readonly driver: Driver
  readonly run: RunStatement
  readonly guard: StoreGuard | undefined
}

/** Opens a database. Each transaction, and each statement outside of one, passes through the guard exactly once. */
export function openKysely(engine: GuardedEngine): Kysely<Schema> {
  const { store, dialect, driver, run, guard = (call) => call() } = engine
  const hasRaised = markErrors(driver)
  dialect.createDriver = () => driver
  const plain = new Kysely<Schema>({ dialect })
  const executor = plain.getExecutor()
  const connections: ConnectionProvider = {
    provideConnection(use) {
      let entered = false
      const enter: typeof use = async (connection) => {
        entered = true
        return await use(connection)
      }
      return guard(
        () => executor.provideConnection(enter),
        (error) => (!entered || hasRaised(error)) && isStoreFailure(error),
        { store, statement: 'transaction' },
      )
    },
  }
  const guarded = new StatementExecutor(dialect, connections, (query) => {
    const call = () => run(query) ?? plain.executeQuery(query)
    return guard(call, isStoreFailure, { store, statement: query })
  })
  // Transactions use the connections of `executor`. Closing this database also closes `plain`.
  const within: Driver = {
    init: async () => {},
    acquireConnection: () => driver.acquireConnection(),
    releaseConnection: (connection) => driver.releaseConnection(connection),
    beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
    commitTransaction: (connection) => driver.commitTransaction(connection),
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    destroy: () => plain.destroy(),
  }
  return new Kysely<Schema>({ config: { dialect }, dialect, driver: within, executor: guarded })
}

/** Makes a driver remember its errors. @returns a predicate: whether an error came from the driver */
function markErrors(driver: Driver): (error: unknown) => boolean {
  const raised = new WeakSet<object>()
  const marked =
    <Values extends unknown[], Result>(call: (...values: Values) => Promise<Result>) =>
    async (...values: Values): Promise<Result> => {
      try {
        return await call(...values)
      } catch (error) {
        if (typeof error === 'object' && error !== null) raised.add(error)
        throw error
      }
    }
  const known = new WeakSet<DatabaseConnection>()
  const acquire = marked(driver.acquireConnection.bind(driver))
  driver.acquireConnection = async (options) => {
    const connection = await acquire(options)
    if (!known.has(connection)) {
      known.add(connection)
      // Replace the method in place, because the driver expects its own connection objects back. Streams are not used.
      const execute = marked(connection.executeQuery.bind(connection))
      connection.executeQuery = execute as typeof connection.executeQuery
    }
    return connection
  }
  driver.beginTransaction = marked(driver.beginTransaction.bind(driver))
  driver.commitTransaction = marked(driver.commitTransaction.bind(driver))
  driver.rollbackTransaction = marked(driver.rollbackTransaction.bind(driver))
  return (error) => raised.has(Object(error))
}

/**
 * Whether an error means that the store is unavailable. Invalid SQL, a wrong type or a violated constraint is a bug,
 * which a retry does not fix. Unknown errors count as failures, because a retry does no harm.
 */
export function isStoreFailure(error: unknown): boolean {
  if (mistakesInCode.some((mistake) => error instanceof mistake)) return false
  const { name, code, message } = (error ?? {}) as Record<'name' | 'code' | 'message', unknown>
  if (name === 'ReplyError') return !redisMistake.test(String(message))
  if (typeof code !== 'string') return true
  if (/^no such table/.test(String(message))) return true
  if (code.startsWith('SQLITE_')) return !sqliteMistake.test(code)
  const isSqlState = /^[0-9A-Z]{5}$/.test(code)
  return !(isSqlState && sqlMistake.test(code))
}

/** Error classes that indicate a bug. Drivers throw a plain `Error` when a connection breaks. */
const mistakesInCode = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * SQLite result codes that concern the statement, not the file (sqlite.org/rescode.html). Codes that concern the file
 * include BUSY, LOCKED, IOERR, FULL, CANTOPEN, CORRUPT and READONLY. CONSTRAINT_TRIGGER is excluded: our triggers
 * never reject a statement, so the error comes from a trigger that an operator added.
 */
const sqliteMistake = /^SQLITE_(ERROR|CONSTRAINT(?!_TRIGGER)|MISMATCH|MISUSE|RANGE|TOOBIG)(_|$)/

/**
 * SQLSTATE classes that concern the statement (PostgreSQL, Appendix A): cardinality, data, integrity constraint,
 * cursor, failed transaction, syntax or access rule. 42501 (missing privilege) and 42P01 (missing table, as during a
 * restore) concern the deployment. Classes 08, 28, 3D, 40, 53, 55, 57, 58 and XX concern the server.
 */
const sqlMistake = /^(21|22|23|24|34|25P02|42(?!501|P01))/

/** Redis errors that concern the command. LOADING, READONLY, CLUSTERDOWN and OOM concern the server. */
const redisMistake =
  /^(WRONGTYPE|CROSSSLOT|ERR (unknown command|wrong number|syntax error|value is not))/
