import { type Dialect, type Driver, Kysely } from 'kysely'

import type { StateStore } from './oauth-state.ts'
import type { Schema } from './schema.ts'
import { type RunStatement, StatementExecutor } from './statement-executor.ts'

/** Makes one call to a store; what a failure means to its caller is decided outside of the stores. */
export type StoreGuard = <Result>(call: () => Promise<Result>) => Promise<Result>

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
  const driver = dialect.createDriver()
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
      { provideConnection: (use) => guard(() => executor.provideConnection(use)) },
      (query) => guard(() => run(query) ?? plain.executeQuery(query)),
    ),
  })
}

const unguarded: StoreGuard = (call) => call()

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
        upsert: (...values) => guard(() => records.upsert(...values)),
        find: (id) => guard(() => records.find(id)),
        findByUid: (uid) => guard(() => records.findByUid(uid)),
        findByUserCode: (code) => guard(() => records.findByUserCode(code)),
        consumeOnce: (id) => guard(() => records.consumeOnce(id)),
        destroy: (id) => guard(() => records.destroy(id)),
      }
    },
  }
}
