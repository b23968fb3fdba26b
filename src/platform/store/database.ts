/** SQLite, PostgreSQL and Redis behind one set of queries. What is stored has no meaning here. */

import type { Kysely } from 'kysely'

import type { StoreGuard } from './guarded-stores.ts'
import type { Schema } from './schema.ts'

/** SQLite or PostgreSQL behind the same queries; which one it is matters to nobody but the store. */
export interface Database extends AsyncDisposable {
  readonly kysely: Kysely<Schema>
  readonly engine: 'sqlite' | 'postgres'
  /** How many connections are open now, and how many requests wait for one; where there is a pool. */
  readonly connections?: () => { readonly open: number; readonly waiting: number }
  /** Rejects when the database does not answer within the query timeout. */
  ping(): Promise<void>
}

export type DatabaseLocation =
  | { kind: 'sqlite'; file: string }
  | { kind: 'postgres'; url: string; connectionsMax: number }

export interface DatabaseOptions {
  /** How long one query may take, waiting for a connection or a lock included. */
  readonly queryTimeoutMs?: number
  readonly now?: () => number
  /** Hears of connections that broke while nobody used them; the pool replaces them by itself. */
  readonly onIdleError?: (error: Error) => void
  /** What every query passes through; none does without it. */
  readonly guard?: StoreGuard
  /** Another folder of migrations, for tests. */
  readonly migrationsFolder?: string
  /** What is done about migrations that the database does not have yet. Without it they are applied. */
  readonly migrations?: 'apply' | 'refuse'
  /** How long one statement of a migration may take on PostgreSQL; a minute without it. */
  readonly migrationTimeoutMs?: number
  /** Opens one on PostgreSQL that a backup was brought into, to finish that; nobody else is given it. */
  readonly finishesRestore?: boolean
}

/** The options of an engine, with every default in place. */
export interface EngineOptions extends DatabaseOptions {
  readonly queryTimeoutMs: number
  readonly now: () => number
}
