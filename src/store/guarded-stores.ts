import { type Dialect, type Driver, Kysely } from 'kysely'

import type { StateStore } from './oauth-state.ts'
import type { Schema } from './schema.ts'

/** Makes one call to a store; what a failure means to its caller is decided outside of the stores. */
export type StoreGuard = <Result>(call: () => Promise<Result>) => Promise<Result>

/** A database; with a guard every use of it passes that: each query, each transaction as a whole. */
export function openKysely(dialect: Dialect, guard: StoreGuard | undefined): Kysely<Schema> {
  if (!guard) return new Kysely({ dialect })
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
    executor: executor.withConnectionProvider({
      provideConnection: (use) => guard(() => executor.provideConnection(use)),
    }),
  })
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
