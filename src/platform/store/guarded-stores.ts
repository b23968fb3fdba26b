import { type DatabaseConnection, type Dialect, type Driver, Kysely } from 'kysely'

import { type RunStatement, StatementExecutor } from './compiled.ts'
import type { StateStore } from './oauth-state.ts'
import type { Schema } from './schema.ts'
import type { RecordOperation, SqlStore, StoreUse } from './store-use.ts'

/**
 * Makes one call to a store; what a failure means to its caller is decided outside of the stores.
 *
 * @param isFailure whether the store failed, of an error of the call: whatever else is thrown within a
 * transaction, a refusal for example, says nothing about the store
 * @param use what the call is for
 */
export type StoreGuard = <Result>(
  call: () => Promise<Result>,
  isFailure: (error: unknown) => boolean,
  use: StoreUse,
) => Promise<Result>

/** Runs what `compiled` has made, on a store of this kind. */
export interface Statements {
  readonly store: SqlStore
  readonly run: RunStatement
}

/**
 * A database of which every use passes the guard, once: each query, each transaction as a whole.
 */
export function openKysely(
  dialect: Dialect,
  { store, run }: Statements,
  guard: StoreGuard = unguarded,
): Kysely<Schema> {
  const { driver, hasRaised } = withErrorsKept(dialect.createDriver())
  const plain = new Kysely<Schema>({ dialect: withDriver(dialect, () => driver) })
  const executor = plain.getExecutor()
  const transaction = { store, statement: 'transaction' } as const
  // Kysely uses it on connections that the executor gave, and to close what `plain` has opened.
  const within: Driver = {
    init: async () => {},
    acquireConnection: () => driver.acquireConnection(),
    releaseConnection: (connection) => driver.releaseConnection(connection),
    beginTransaction: (connection, settings) => driver.beginTransaction(connection, settings),
    commitTransaction: (connection) => driver.commitTransaction(connection),
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    destroy: () => plain.destroy(),
  }
  return new Kysely<Schema>({
    config: { dialect },
    dialect,
    driver: within,
    executor: new StatementExecutor(
      dialect,
      {
        provideConnection(use) {
          let entered = false
          const useIt: typeof use = async (connection) => {
            entered = true
            return await use(connection)
          }
          return guard(
            () => executor.provideConnection(useIt),
            (error) => (!entered || hasRaised(error)) && isStoreFailure(error),
            transaction,
          )
        },
      },
      (query) =>
        guard(() => run(query) ?? plain.executeQuery(query), isStoreFailure, {
          store,
          statement: query.query,
        }),
    ),
  })
}

const unguarded: StoreGuard = (call) => call()

/** A driver that remembers which errors are its own, and not of those who use its connections. */
function withErrorsKept(driver: Driver) {
  const raised = new WeakSet<object>()
  const kept = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (error) {
      if (typeof error === 'object' && error !== null) raised.add(error)
      throw error
    }
  }
  const known = new WeakSet<DatabaseConnection>()
  const keeping: Driver = {
    init: () => kept(driver.init()),
    async acquireConnection() {
      const connection = await kept(driver.acquireConnection())
      if (known.has(connection)) return connection
      known.add(connection)
      // In its place, because the driver wants its own connections back. Nothing here reads streams.
      const executeQuery = connection.executeQuery.bind(connection)
      connection.executeQuery = (query) => kept(executeQuery(query))
      return connection
    },
    releaseConnection: (connection) => kept(driver.releaseConnection(connection)),
    beginTransaction: (connection, settings) => kept(driver.beginTransaction(connection, settings)),
    commitTransaction: (connection) => kept(driver.commitTransaction(connection)),
    rollbackTransaction: (connection) => kept(driver.rollbackTransaction(connection)),
    destroy: () => driver.destroy(),
  }
  return { driver: keeping, hasRaised: (error: unknown) => raised.has(Object(error)) }
}

function withDriver(dialect: Dialect, createDriver: Dialect['createDriver']): Dialect {
  return {
    createDriver,
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (database) => dialect.createIntrospector(database),
  }
}

/** A state store in Redis of which every use of a record passes the guard. */
export function guardedState(state: StateStore, guard: StoreGuard): StateStore {
  return {
    ...state,
    adapterFor(model) {
      const records = state.adapterFor(model)
      const guarded = <Result>(operation: RecordOperation, call: () => Promise<Result>) =>
        guard(call, isStoreFailure, { store: 'redis', operation, model })
      return {
        upsert: (...values) => guarded('upsert', () => records.upsert(...values)),
        find: (id) => guarded('find', () => records.find(id)),
        findByUid: (uid) => guarded('findByUid', () => records.findByUid(uid)),
        findByUserCode: (code) => guarded('findByUserCode', () => records.findByUserCode(code)),
        consumeOnce: (id) => guarded('consumeOnce', () => records.consumeOnce(id)),
        addOnce: (id, ttlSeconds) => guarded('addOnce', () => records.addOnce(id, ttlSeconds)),
        destroy: (id) => guarded('destroy', () => records.destroy(id)),
      }
    },
  }
}

/**
 * Whether an error of a store says that the store is unavailable. Everything else is a bug, which a retry of
 * a client does not fix: invalid SQL, a value of the wrong type, a violated constraint. Unknown errors
 * count as failures, because a client that retries does no harm.
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

/** Errors of the language itself; drivers throw a plain `Error` when a connection breaks. */
const mistakesInCode = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * Result codes of SQLite about the statement, not the file (sqlite.org/rescode.html). Among those about the
 * file are BUSY, LOCKED, IOERR, FULL, CANTOPEN, CORRUPT and READONLY. The triggers of the schema
 * never reject a statement; one that does was added by the operator of the service.
 */
const sqliteMistake = /^SQLITE_(ERROR|CONSTRAINT(?!_TRIGGER)|MISMATCH|MISUSE|RANGE|TOOBIG)(_|$)/

/**
 * Classes of SQLSTATE about the statement (PostgreSQL, Appendix A): cardinality, data, integrity constraint,
 * cursor, a statement after a failed one, syntax or access rule. Not 42501 and 42P01, which are about the
 * deployment: a missing privilege, and a missing table, as during a restore. About the server are 08, 28,
 * 3D, 40, 53, 55, 57, 58 and XX; a trigger has P0.
 */
const sqlMistake = /^(21|22|23|24|34|25P02|42(?!501|P01))/

/** Errors of Redis about a command; LOADING, READONLY, CLUSTERDOWN and OOM are about the server. */
const redisMistake =
  /^(WRONGTYPE|CROSSSLOT|ERR (unknown command|wrong number|syntax error|value is not))/
