import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { Database, EngineOptions } from './database.ts'
import { effectOf, type MigrationEffect, statementsOf } from './migration-effect.ts'

const ownMigrations = join(import.meta.dirname, 'migrations')

interface Migration {
  readonly name: string
  readonly digest: string
}

interface Script extends Migration {
  readonly sql: string
}

/** A row of the table schema_migration. */
interface AppliedMigration extends Migration {
  /** Tells a version that does not know the migration whether it may run on this schema. */
  readonly effect: MigrationEffect
}

/** A connection for migrations only, and the statements that differ by engine. */
export interface MigrationSession {
  readonly engine: Database['engine']
  /** Runs one statement, or several. */
  run(sql: string): Promise<unknown>
  rowsOf(sql: string): Promise<readonly unknown[]>
  /** Begins a transaction that excludes every other migrating process. */
  readonly begin: string
  /** Selects a row if the table schema_migration exists. */
  readonly findTable: string
  /** Whether a statement timed out waiting for a lock. */
  isLockTimeout(error: unknown): boolean
}

const createMigrationTable = `create table if not exists schema_migration (
  name text not null primary key,
  digest text not null,
  applied_at bigint not null,
  effect text not null
)`

/**
 * Brings the schema up to date: forward-only files in the order of their names, each in its own
 * transaction. When processes start together, one applies a file: each checks again once it holds the
 * lock. Writes nothing when nothing is pending, so that a start stays quick.
 *
 * @throws when files are pending and `migrations` is 'refuse'
 */
export async function migrate(session: MigrationSession, options: EngineOptions): Promise<void> {
  const scripts = await readScripts(options.migrationsFolder ?? ownMigrations, session.engine)
  const missing = pending(scripts, await listApplied(session))
  if (missing.length === 0) return
  if (options.migrations === 'refuse') {
    throw new Error(
      `The schema of the database is behind this version by ${missing.map(({ name }) => name).join(', ')}: run ` +
        '`npm run gatehouse -- migrate`, or start without MIGRATE_AT_START=no.',
    )
  }
  for (const script of scripts) {
    await retryWhileLocked(session, async () => {
      await session.run(createMigrationTable)
      if (!pending(scripts, await listApplied(session)).includes(script)) return
      await session.run(script.sql)
      const row = [script.name, script.digest, options.now(), effectOf(script.sql)]
      await session.run(
        `insert into schema_migration (name, digest, applied_at, effect) values ('${row.join("', '")}')`,
      )
    })
  }
}

export type MigrationStatus = Awaited<ReturnType<typeof readMigrationStatus>>

/** Reads what `migrate` would do, without changing anything. */
export async function readMigrationStatus(session: MigrationSession) {
  const scripts = await readScripts(ownMigrations, session.engine)
  const applied = await listApplied(session)
  return {
    appliedCount: applied.length,
    pending: pending(scripts, applied).map(({ name, sql }) => ({
      name,
      effect: effectOf(sql),
      statements: statementsOf(sql),
    })),
  }
}

/** Names the migrations of a list that this version does not have in the same form. */
export async function unknownMigrations(
  listed: readonly Migration[],
  engine: Database['engine'],
): Promise<string[]> {
  const known = digestsByName(await readScripts(ownMigrations, engine))
  return listed.filter(({ name, digest }) => known.get(name) !== digest).map(({ name }) => name)
}

const LOCK_RETRY_MAX_MS = 30_000
const LOCK_RETRY_PAUSE_MS = 50

/**
 * Runs a file in a transaction, again while its tables are locked. A statement that waits for a table
 * blocks every later query of that table, so it waits briefly, and running requests proceed in the pauses.
 */
async function retryWhileLocked(
  session: MigrationSession,
  work: () => Promise<void>,
): Promise<void> {
  const deadlineMs = performance.now() + LOCK_RETRY_MAX_MS
  for (;;) {
    try {
      await session.run(session.begin)
      await work()
      await session.run('commit')
      return
    } catch (error) {
      // The first error says more than what a broken connection answers to a rollback.
      await session.run('rollback').catch(() => {})
      if (!session.isLockTimeout(error) || performance.now() > deadlineMs) throw error
      await delay(LOCK_RETRY_PAUSE_MS)
    }
  }
}

async function listApplied(session: MigrationSession): Promise<AppliedMigration[]> {
  const tables = await session.rowsOf(session.findTable)
  if (tables.length === 0) return []
  const rows = await session.rowsOf('select name, digest, effect from schema_migration')
  return rows as AppliedMigration[]
}

/** A file is in SQL that both engines take, unless its name ends in `.sqlite.sql` or `.postgres.sql`. */
async function readScripts(folder: string, engine: Database['engine']): Promise<Script[]> {
  const own = new RegExp(`^[\\w-]+(\\.${engine})?\\.sql$`)
  const names = (await readdir(folder)).filter((name) => own.test(name)).sort()
  return await Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name), 'utf8')
      return { name, sql, digest: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

function digestsByName(migrations: readonly Migration[]): Map<string, string> {
  return new Map(migrations.map(({ name, digest }) => [name, digest]))
}

/** Lists what is to be applied; throws when code and database have different histories. */
function pending(scripts: readonly Script[], applied: readonly AppliedMigration[]): Script[] {
  const known = digestsByName(scripts)
  for (const { name, digest, effect } of applied) {
    const expected = known.get(name)
    // This version can run on a schema to which a newer one only added.
    if (expected === undefined && effect === 'expand') continue
    if (expected === undefined) {
      throw new Error(
        `The database has the migration ${name}, which this version does not know: it was used by a newer version. Start that version again, or restore a backup that was made before the upgrade.`,
      )
    }
    if (expected !== digest) {
      throw new Error(
        `The migration ${name} was changed after this database had applied it. Restore the file as it was released, and put the change into a new migration.`,
      )
    }
  }
  const done = digestsByName(applied)
  return scripts.filter(({ name }) => !done.has(name))
}
