import { type DatabaseConnection, type Dialect, type Driver, Kysely } from 'kysely'

import type { StateStore } from './oauth-state.ts'
import type { Schema } from './schema.ts'
import { type RunStatement, StatementExecutor } from './statement-executor.ts'
import { isStoreFailure } from './store-failure.ts'
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
