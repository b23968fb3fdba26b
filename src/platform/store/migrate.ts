import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { Database, EngineOptions } from './database.ts'

const ownMigrations = join(import.meta.dirname, 'migrations')

interface Migration {
  readonly name: string
  readonly digest: string
}

type Script = Migration & { readonly sql: string }
type AppliedMigration = Migration & { readonly effect: MigrationEffect }

/** A separate connection for migrations, and the statements that differ between engines. */
export interface MigrationSession {
  readonly engine: Database['engine']
  readonly run: (sql: string) => Promise<unknown>
  readonly rowsOf: (sql: string) => Promise<readonly unknown[]>
  /** The statement that begins a transaction and excludes all other migrating processes. */
  readonly begin: string
  /** The query that returns a row if the table schema_migration exists. */
  readonly findTable: string
  /** Whether a statement timed out while waiting for a lock. */
  readonly isLockTimeout: (error: unknown) => boolean
}

const createMigrationTable = `create table if not exists schema_migration (
  name text not null primary key,
  digest text not null,
  applied_at bigint not null,
  effect text not null
)`

/**
 * Applies pending migrations: forward-only files, in order of their names, each in its own transaction. If several
 * processes start together, only one process applies a file, because each process checks again after acquiring the
 * lock. Writes nothing if nothing is pending, to keep start-up fast.
 *
 * @throws if migrations are pending and `options.migrations` is 'refuse', or if `unapplied` throws
 */
export async function migrate(session: MigrationSession, options: EngineOptions): Promise<void> {
  const scripts = await readScripts(options.migrationsFolder ?? ownMigrations, session.engine)
  const missing = unapplied(scripts, await listApplied(session))
  if (missing.length === 0) return
  if (options.migrations === 'refuse') {
    throw new Error(
      `These migrations are pending: ${missing.map(({ name }) => name).join(', ')}. Run ` +
        '`npm run gatehouse -- migrate`, or start the service without MIGRATE_AT_START=no.',
    )
  }
  for (const script of scripts) {
    await retryWhileLocked(session, async () => {
      await session.run(createMigrationTable)
      if (!unapplied(scripts, await listApplied(session)).includes(script)) return
      await session.run(script.sql)
      const row = [script.name, script.digest, options.now(), effectOf(script.name)].join("', '")
      await session.run(
        `insert into schema_migration (name, digest, applied_at, effect) values ('${row}')`,
      )
    })
  }
}

export type MigrationStatus = Awaited<ReturnType<typeof readMigrationStatus>>

/** Returns the pending migrations, and the number of applied ones. Changes nothing. @throws if `unapplied` throws */
export async function readMigrationStatus(session: MigrationSession) {
  const scripts = await readScripts(ownMigrations, session.engine)
  const applied = await listApplied(session)
  return {
    appliedCount: applied.length,
    pending: unapplied(scripts, applied).map(({ name }) => ({ name, effect: effectOf(name) })),
  }
}

/** Returns the names of the listed migrations that this version lacks, or has with different content. */
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
 * Runs a migration in a transaction, and retries for up to 30 s while its tables are locked. A waiting statement blocks
 * all later queries on its table, so each attempt waits only briefly.
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
      // Ignore a failed rollback, because the first error is more useful.
      await session.run('rollback').catch(() => {})
      if (!session.isLockTimeout(error) || performance.now() > deadlineMs) throw error
      await delay(LOCK_RETRY_PAUSE_MS)
    }
  }
}

async function listApplied({ rowsOf, findTable }: MigrationSession) {
  if ((await rowsOf(findTable)).length === 0) return []
  return (await rowsOf('select name, digest, effect from schema_migration')) as AppliedMigration[]
}

/** Reads the migrations for an engine: all `*.sql` files, except files for another engine, such as `*.sqlite.sql`. */
async function readScripts(folder: string, engine: Database['engine']): Promise<Script[]> {
  const own = new RegExp(`^[\\w-]+(\\.contract)?(\\.${engine})?\\.sql$`)
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

/** Returns the migrations to apply. @throws if an applied migration was changed, or is unknown and not `expand` */
function unapplied(scripts: readonly Script[], applied: readonly AppliedMigration[]): Script[] {
  const known = digestsByName(scripts)
  for (const { name, digest, effect } of applied) {
    const expected = known.get(name)
    // A newer version only extended the schema, so this version can run on it.
    if (expected === digest || (expected === undefined && effect === 'expand')) continue
    throw new Error(
      expected === undefined
        ? `The database has the migration ${name}, which belongs to a newer version. Start that version again, or restore a backup from before the upgrade.`
        : `The migration ${name} was changed after it was applied to this database. Restore the released file, and put the change into a new migration.`,
    )
  }
  const done = digestsByName(applied)
  return scripts.filter(({ name }) => !done.has(name))
}

/**
 * How a migration affects the previous version. `expand` only adds, so processes of that version can start and run.
 * `contract` removes or restricts something that those processes may use.
 */
type MigrationEffect = 'expand' | 'contract'

/** Returns the effect that a file name declares: `contract` for `x.contract.sql`. A test compares it with the SQL. */
export function effectOf(name: string): MigrationEffect {
  return /\.contract\b/.test(name) ? 'contract' : 'expand'
}
