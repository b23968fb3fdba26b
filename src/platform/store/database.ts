/** The interface of a database, which is SQLite or PostgreSQL. Other folders define the meaning of the data. */

import type { Kysely } from 'kysely'

import type { StoreGuard } from './guarded-stores.ts'
import type { Schema } from './schema.ts'

/** An open database. Only code in this folder depends on whether it is SQLite or PostgreSQL. */
export interface Database extends AsyncDisposable {
  readonly kysely: Kysely<Schema>
  readonly engine: 'sqlite' | 'postgres'
  /** The number of open connections and of waiting requests, if there is a pool. */
  readonly connections?: () => { readonly open: number; readonly waiting: number }
  /** Rejects if the database does not respond in time. */
  ping(): Promise<void>
}

export type DatabaseLocation =
  | { kind: 'sqlite'; file: string }
  | { kind: 'postgres'; url: string; connectionsMax: number }

export interface DatabaseOptions {
  /** The time limit of a query, including waits for a connection or lock. */
  readonly answerWithinMs?: number
  readonly now?: () => number
  /** Called when an idle connection breaks. The pool replaces that connection. */
  readonly onIdleError?: (error: Error) => void
  /** Wraps every query. */
  readonly guard?: StoreGuard
  /** The folder of other migrations, for tests. */
  readonly migrationsFolder?: string
  /** Whether to apply pending migrations (the default), or to fail because of them. */
  readonly migrations?: 'apply' | 'refuse'
  /** The time limit of one migration statement on PostgreSQL; a minute by default. */
  readonly migrationTimeoutMs?: number
  /** Whether to open a PostgreSQL database whose restore is unfinished, which is otherwise refused. */
  readonly finishesRestore?: boolean
}

/** The options for one engine, with defaults filled in. */
export type EngineOptions = DatabaseOptions &
  Required<Pick<DatabaseOptions, 'answerWithinMs' | 'now'>>
