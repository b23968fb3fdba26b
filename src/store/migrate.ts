import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Database } from './database.ts'

const ownMigrations = join(import.meta.dirname, 'migrations')

interface Migration {
  readonly name: string
  readonly digest: string
}

interface Script extends Migration {
  readonly sql: string
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
}

/**
 * Brings the schema up to date: forward-only files, in the order of their names, each in its own
 * transaction. Processes that start together agree on one that applies a file, because each looks
 * again once it is alone. Nothing is written when nothing is new, so that a start stays quick.
 */
export async function migrate(session: MigrationSession, options: MigrateOptions): Promise<void> {
  const scripts = await readScripts(options.migrationsFolder ?? ownMigrations, session.engine)
  if (pending(scripts, await listApplied(session)).length === 0) return

  for (const script of scripts) {
    await exclusively(session, async () => {
      await session.run(createMigrationTable)
      if (!pending(scripts, await listApplied(session)).includes(script)) return
      await session.run(script.sql)
      await session.record(script, options.now())
    })
  }
}

export interface MigrateOptions {
  readonly now: () => number
  /** Another folder of .sql files, for tests. */
  readonly migrationsFolder?: string
}

const createMigrationTable = `create table if not exists schema_migration (
  name text not null primary key,
  digest text not null,
  applied_at bigint not null
)`

async function exclusively(session: MigrationSession, work: () => Promise<void>): Promise<void> {
  try {
    await session.run(session.begin)
    await work()
    await session.run('commit')
  } catch (error) {
    // The first error says more than what a broken connection answers to a rollback.
    await session.run('rollback').catch(() => {})
    throw error
  }
}

async function listApplied(session: MigrationSession): Promise<Migration[]> {
  const tables = await session.rowsOf(session.findTable)
  if (tables.length === 0) return []
  return (await session.rowsOf('select name, digest from schema_migration')) as Migration[]
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
function pending(scripts: readonly Script[], applied: readonly Migration[]): Script[] {
  const known = new Map(scripts.map(({ name, digest }) => [name, digest]))
  for (const { name, digest } of applied) {
    const expected = known.get(name)
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
