import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { Database } from './database.ts'
import {
  effectOf,
  type MigrationEffect,
  type StatementEffect,
  statementsOf,
} from './migration-effect.ts'

const ownMigrations = join(import.meta.dirname, 'migrations')

interface Migration {
  readonly name: string
  readonly digest: string
}

interface Script extends Migration {
  readonly sql: string
}

/** As the database remembers one. */
interface AppliedMigration extends Migration {
  /** Absent where a version before 0023 applied it. */
  readonly effect?: MigrationEffect | null
}

/** A connection for migrations alone, and the words in which its engine wants to be spoken to. */
export interface MigrationSession {
  /** Which of the files that are in one engine's own words are for this database. */
  readonly engine: Database['engine']
  /** Runs one statement, or several. */
  run(sql: string): Promise<unknown>
  rowsOf(sql: string): Promise<readonly unknown[]>
  /** Begins a transaction inside which no second process can be at the same time. */
  readonly begin: string
  /** Finds a row when there is a table schema_migration. */
  readonly findTable: string
  record(migration: Migration, appliedAtMs: number): Promise<unknown>
  /** Whether a statement gave up because somebody else held what it wanted to lock. */
  isLockTimeout(error: unknown): boolean
}

/**
 * Brings the schema up to date: forward-only files, in the order of their names, each in its own
 * transaction. Processes that start together agree on one that applies a file, because each looks
 * again once it is alone. Nothing is written when nothing is new, so that a start stays quick.
 *
 * @returns the names of the files that this call applied
 * @throws {SchemaBehind} when files are missing and the options say that nobody asked for them
 */
export async function migrate(
  session: MigrationSession,
  options: MigrateOptions,
): Promise<string[]> {
  const scripts = await readScripts(options.migrationsFolder ?? ownMigrations, session.engine)
  const missing = pending(scripts, await listApplied(session))
  if (missing.length === 0) return []
  if (options.migrations === 'refuse') throw new SchemaBehind(missing.map(({ name }) => name))

  const applied: string[] = []
  for (const script of scripts) {
    const done = await patiently(session, async () => {
      await session.run(createMigrationTable)
      if (!pending(scripts, await listApplied(session)).includes(script)) return false
      await session.run(script.sql)
      await session.record(script, options.now())
      await recordEffects(session, scripts)
      return true
    })
    if (done) applied.push(script.name)
  }
  return applied
}

export interface MigrateOptions {
  readonly now: () => number
  /** Another folder of .sql files, for tests. */
  readonly migrationsFolder?: string
  /** What is done about files that the database does not have yet. Without it they are applied. */
  readonly migrations?: 'apply' | 'refuse'
}

/** The schema is older than the code, and whoever opened the database was not to change it. */
class SchemaBehind extends Error {
  override readonly name = 'SchemaBehind'
  readonly missing: readonly string[]

  constructor(missing: readonly string[]) {
    super(
      `The schema of the database is behind this version by ${missing.join(', ')}: run ` +
        '`npm run gatehouse -- migrate`, or start without MIGRATE_AT_START=no.',
    )
    this.missing = missing
  }
}

/** A file that the database does not have yet, and what it will do. */
export interface PendingMigration {
  readonly name: string
  readonly effect: MigrationEffect
  readonly statements: readonly StatementEffect[]
}

export interface MigrationStatus {
  readonly appliedCount: number
  readonly pending: readonly PendingMigration[]
}

/** What `migrate` would do; it changes nothing. */
export async function readMigrationStatus(
  session: Pick<MigrationSession, 'engine' | 'rowsOf' | 'findTable'>,
  { migrationsFolder = ownMigrations }: Pick<MigrateOptions, 'migrationsFolder'> = {},
): Promise<MigrationStatus> {
  const scripts = await readScripts(migrationsFolder, session.engine)
  const applied = await listApplied(session)
  return {
    appliedCount: applied.length,
    pending: pending(scripts, applied).map(({ name, sql }) => ({
      ...{ name, effect: effectOf(sql), statements: statementsOf(sql) },
    })),
  }
}

const createMigrationTable = `create table if not exists schema_migration (
  name text not null primary key,
  digest text not null,
  applied_at bigint not null
)`

/** Which of a list of migrations this version has not, or has otherwise. */
export async function unknownMigrations(
  listed: readonly Migration[],
  engine: Database['engine'],
): Promise<string[]> {
  const scripts = await readScripts(ownMigrations, engine)
  const known = new Map(scripts.map(({ name, digest }) => [name, digest]))
  return listed.filter(({ name, digest }) => known.get(name) !== digest).map(({ name }) => name)
}

/** How long a file is tried again whose tables others hold. */
const LOCK_PATIENCE_MS = 30_000
const LOCK_PAUSE_MS = 50

/**
 * A statement that waits for a table makes everybody wait behind it, so that it waits briefly and the
 * whole file is tried again: whoever serves meanwhile gets their turn in the pauses.
 */
async function patiently<Result>(
  session: MigrationSession,
  work: () => Promise<Result>,
): Promise<Result> {
  const deadlineMs = performance.now() + LOCK_PATIENCE_MS
  for (;;) {
    try {
      return await exclusively(session, work)
    } catch (error) {
      if (!session.isLockTimeout(error) || performance.now() > deadlineMs) throw error
      await delay(LOCK_PAUSE_MS)
    }
  }
}

async function exclusively<Result>(
  session: MigrationSession,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    await session.run(session.begin)
    const result = await work()
    await session.run('commit')
    return result
  } catch (error) {
    // The first error says more than what a broken connection answers to a rollback.
    await session.run('rollback').catch(() => {})
    throw error
  }
}

async function listApplied(
  session: Pick<MigrationSession, 'rowsOf' | 'findTable'>,
): Promise<AppliedMigration[]> {
  const tables = await session.rowsOf(session.findTable)
  if (tables.length === 0) return []
  // The column of effects is younger than the table.
  return (await session.rowsOf('select * from schema_migration')) as AppliedMigration[]
}

/** Says for versions that do not know a file whether they may run beside it. */
async function recordEffects(session: MigrationSession, scripts: readonly Script[]): Promise<void> {
  const effects = new Map(scripts.map(({ name, sql }) => [name, effectOf(sql)]))
  for (const { name, effect } of await listApplied(session)) {
    const found = effects.get(name)
    // Undefined is a table without the column, which another file of this run may add.
    if (effect !== null || found === undefined) continue
    await session.run(
      `update schema_migration set effect = '${found}' where name = '${name.replaceAll("'", "''")}'`,
    )
  }
}

/** A file is in SQL that both engines take, unless its name ends in `.sqlite.sql` or `.postgres.sql`. */
async function readScripts(folder: string, engine: Database['engine']): Promise<Script[]> {
  const own = new RegExp(`^[^.]+(\\.${engine})?\\.sql$`)
  const names = (await readdir(folder)).filter((name) => own.test(name)).sort()
  return await Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name), 'utf8')
      return { name, sql, digest: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/** What is still to be applied; throws when code and database tell two different histories. */
function pending(scripts: readonly Script[], applied: readonly AppliedMigration[]): Script[] {
  const known = new Map(scripts.map(({ name, digest }) => [name, digest]))
  for (const { name, digest, effect } of applied) {
    const expected = known.get(name)
    // What a newer version only added is nothing to this one.
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
  const done = new Set(applied.map(({ name }) => name))
  return scripts.filter(({ name }) => !done.has(name))
}
