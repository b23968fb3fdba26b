/** SQLite or PostgreSQL behind one set of queries. The meaning of what is stored belongs to other folders. */

import type { Kysely } from 'kysely'

import type { StoreGuard } from './guarded-stores.ts'
import type { Schema } from './schema.ts'

/** An open database. Only the store depends on which engine it is. */
export interface Database extends AsyncDisposable {
  readonly kysely: Kysely<Schema>
  readonly engine: 'sqlite' | 'postgres'
  /** How many connections are open, and how many requests wait for one; where there is a pool. */
  readonly connections?: () => { readonly open: number; readonly waiting: number }
  /** Rejects when the database does not answer within the query timeout. */
  ping(): Promise<void>
}

export type DatabaseLocation =
  | { kind: 'sqlite'; file: string }
  | { kind: 'postgres'; url: string; connectionsMax: number }

export interface DatabaseOptions {
  /** How long one query may take, waiting for a connection or a lock included. */
  readonly answerWithinMs?: number
  readonly now?: () => number
  /** Called for an idle connection that broke; the pool replaces it by itself. */
  readonly onIdleError?: (error: Error) => void
  /** Wraps every query. */
  readonly guard?: StoreGuard
  /** Another folder of migrations, for tests. */
  readonly migrationsFolder?: string
  /** Whether migrations that the database lacks are applied (the default), or make the opening fail. */
  readonly migrations?: 'apply' | 'refuse'
  /** How long one statement of a migration may take on PostgreSQL; a minute by default. */
  readonly migrationTimeoutMs?: number
  /** Opens a PostgreSQL database whose restore is not finished, which is refused otherwise. */
  readonly finishesRestore?: boolean
}

/** The options of an engine, with defaults filled in. */
export interface EngineOptions extends DatabaseOptions {
  readonly answerWithinMs: number
  readonly now: () => number
}
