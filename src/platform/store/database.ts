/** SQLite or PostgreSQL behind one set of queries. Other folders give the data its meaning. */

import type { Kysely } from 'kysely'

import type { StoreGuard } from './guarded-stores.ts'
import type { Schema } from './schema.ts'

/** An open database. Only this folder depends on the engine. */
export interface Database extends AsyncDisposable {
  readonly kysely: Kysely<Schema>
  readonly engine: 'sqlite' | 'postgres'
  /** Open connections and waiting requests, if there is a pool. */
  readonly connections?: () => { readonly open: number; readonly waiting: number }
  /** Rejects if the database does not answer in time. */
  ping(): Promise<void>
}

export type DatabaseLocation =
  | { kind: 'sqlite'; file: string }
  | { kind: 'postgres'; url: string; connectionsMax: number }

export interface DatabaseOptions {
  /** The time limit of a query, including the wait for a connection or lock. */
  readonly answerWithinMs?: number
  readonly now?: () => number
  /** Called if an idle connection breaks; the pool replaces it. */
  readonly onIdleError?: (error: Error) => void
  /** Wraps every query. */
  readonly guard?: StoreGuard
  /** Another folder of migrations, for tests. */
  readonly migrationsFolder?: string
  /** Whether pending migrations are applied (the default), or opening fails. */
  readonly migrations?: 'apply' | 'refuse'
  /** The time limit of one migration statement on PostgreSQL; a minute by default. */
  readonly migrationTimeoutMs?: number
  /** Opens a PostgreSQL database during its restore, which otherwise fails. */
  readonly finishesRestore?: boolean
}

/** The options of an engine, with defaults filled in. */
export type EngineOptions = DatabaseOptions &
  Required<Pick<DatabaseOptions, 'answerWithinMs' | 'now'>>
