import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const ownMigrations = join(import.meta.dirname, 'migrations')

export interface Migration {
  readonly name: string
  readonly digest: string
}

interface Script extends Migration {
  readonly sql: string
}

/** The few things that a migration asks of a database; both engines offer them in their own way. */
export interface MigrationSession {
  /** Runs the work in a transaction inside which no second process can be at the same time. */
  exclusively(work: () => Promise<void>): Promise<void>
  /** Runs several statements. */
  runScript(sql: string): Promise<void>
  /** The rows of schema_migration, or nothing while that table does not exist. */
  listApplied(): Promise<Migration[]>
  record(migration: Migration, appliedAtMs: number): Promise<void>
}

/**
 * Brings the schema up to date: forward-only files, in the order of their names, each in its own
 * transaction. Processes that start together agree on one that applies a file, because each looks
 * again once it is alone. Nothing is written when nothing is new, so that a start stays quick.
 */
export async function migrate(session: MigrationSession, options: MigrateOptions): Promise<void> {
  const scripts = await readScripts(options.migrationsFolder ?? ownMigrations)
  if (pending(scripts, await session.listApplied()).length === 0) return

  for (const script of scripts) {
    await session.exclusively(async () => {
      await session.runScript(createMigrationTable)
      if (!pending(scripts, await session.listApplied()).includes(script)) return
      await session.runScript(script.sql)
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

async function readScripts(folder: string): Promise<Script[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
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
