/** The interface to the database, which is SQLite or PostgreSQL. */

import type { Kysely } from 'kysely'

import type { StoreGuard } from './guarded-stores.ts'
import type { Schema } from './schema.ts'

/** An open database. Disposing it closes its connections. */
export interface Database extends AsyncDisposable {
  readonly kysely: Kysely<Schema>
  readonly engine: 'sqlite' | 'postgres'
  /** Counts the open connections, and the calls that wait for one; undefined for SQLite. */
  readonly connections?: () => { readonly open: number; readonly waiting: number }
  /** Rejects if the database does not respond in time. */
  ping(): Promise<void>
}

/** Whether a statement failed because a unique index already contains the value. On SQLite, ignores primary keys. */
export function isDuplicate(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === '23505'
}

export type DatabaseLocation =
  | { kind: 'sqlite'; file: string }
  | { kind: 'postgres'; url: string; connectionsMax: number }

export interface DatabaseOptions {
  /** The time limit of a query, including waits. It is longer while the store is busy (`StorageTimeout`). */
  readonly answerWithinMs?: number
  readonly now?: () => number
  /** Called when an idle connection breaks. A later query opens a new connection. */
  readonly onIdleError?: (error: Error) => void
  readonly guard?: StoreGuard
  /** A folder with other migrations, for tests. */
  readonly migrationsFolder?: string
  /** Whether to apply pending migrations (the default) or to throw an error. */
  readonly migrations?: 'apply' | 'refuse'
  /** The time limit of one migration statement on PostgreSQL; a minute by default. */
  readonly migrationTimeoutMs?: number
  /** Whether to open a PostgreSQL database even if its restore is unfinished. */
  readonly finishesRestore?: boolean
}

export type EngineOptions = DatabaseOptions &
  Required<Pick<DatabaseOptions, 'answerWithinMs' | 'now'>>
