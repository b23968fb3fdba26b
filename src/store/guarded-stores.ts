import { type DatabaseConnection, type Dialect, type Driver, Kysely } from 'kysely'

import type { StateStore } from './oauth-state.ts'
import type { Schema } from './schema.ts'
import { type RunStatement, StatementExecutor } from './statement-executor.ts'
import { isStoreFailure } from './store-failure.ts'

/**
 * Makes one call to a store; what a failure means to its caller is decided outside of the stores.
 *
 * @param isFailure whether the store failed, of an error of the call: whatever else is thrown within a
 * transaction, a refusal for example, says nothing about the store
 */
export type StoreGuard = <Result>(
  call: () => Promise<Result>,
  isFailure: (error: unknown) => boolean,
) => Promise<Result>

/**
 * A database of which every use passes the guard, once: each query, each transaction as a whole.
 *
 * @param run runs what `compiled` has made
 */
export function openKysely(
  dialect: Dialect,
  run: RunStatement,
  guard: StoreGuard = unguarded,
): Kysely<Schema> {
  const { driver, hasRaised } = withErrorsKept(dialect.createDriver())
  const plain = new Kysely<Schema>({ dialect: withDriver(dialect, () => driver) })
  const executor = plain.getExecutor()
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
          )
        },
      },
      (query) => guard(() => run(query) ?? plain.executeQuery(query), isStoreFailure),
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

/** A state store of which every use of a record passes the guard. */
export function guardedState(state: StateStore, guard: StoreGuard): StateStore {
  return {
    ...state,
    adapterFor(model) {
      const records = state.adapterFor(model)
      return {
        upsert: (...values) => guard(() => records.upsert(...values), isStoreFailure),
        find: (id) => guard(() => records.find(id), isStoreFailure),
        findByUid: (uid) => guard(() => records.findByUid(uid), isStoreFailure),
        findByUserCode: (code) => guard(() => records.findByUserCode(code), isStoreFailure),
        consumeOnce: (id) => guard(() => records.consumeOnce(id), isStoreFailure),
        addOnce: (id, ttlSeconds) => guard(() => records.addOnce(id, ttlSeconds), isStoreFailure),
        destroy: (id) => guard(() => records.destroy(id), isStoreFailure),
      }
    },
  }
}
