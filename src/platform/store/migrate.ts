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
 * @throws if migrations are pending and `options.migrations` is 'refuse', or if `pending` throws
 */
export async function migrate(session: MigrationSession, options: EngineOptions): Promise<void> {
  const scripts = await readScripts(options.migrationsFolder ?? ownMigrations, session.engine)
  const missing = pending(scripts, await listApplied(session))
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
      if (!pending(scripts, await listApplied(session)).includes(script)) return
      await session.run(script.sql)
      const row = [script.name, script.digest, options.now(), effectOf(script.sql)].join("', '")
      await session.run(
        `insert into schema_migration (name, digest, applied_at, effect) values ('${row}')`,
      )
    })
  }
}

export type MigrationStatus = Awaited<ReturnType<typeof readMigrationStatus>>

/** Returns the migrations that `migrate` would apply, and changes nothing. @throws if `pending` throws */
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

/** Returns the migrations to apply. @throws if an applied migration was changed, or is unknown and not `expand` */
function pending(scripts: readonly Script[], applied: readonly AppliedMigration[]): Script[] {
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
export type MigrationEffect = 'expand' | 'contract'

export interface StatementEffect {
  readonly effect: MigrationEffect
  /** Which queries must wait while the statement runs. */
  readonly waits?: string
}

/** Returns the effect of a migration: `contract` if any of its statements has that effect. */
export function effectOf(sql: string): MigrationEffect {
  return statementsOf(sql).some(({ effect }) => effect === 'contract') ? 'contract' : 'expand'
}

/** Returns the effect of each statement of a migration; `contract` for statements of an unknown form. */
export function statementsOf(sql: string): StatementEffect[] {
  const own = new Set<string>()
  return split(sql).map((statement) => judge(statement, own))
}

function judged(onlyAdds: boolean, waits?: string): StatementEffect {
  return { effect: onlyAdds ? 'expand' : 'contract', ...(waits !== undefined && { waits }) }
}

/** The known forms of statements. `own` has the tables and columns created in the same file, which nothing uses yet. */
const forms: readonly (readonly [
  form: RegExp,
  judge: (match: readonly string[], own: Set<string>) => StatementEffect,
])[] = [
  [
    /^create (?:unlogged )?table (?:if not exists )?(\w+)/,
    ([, table = ''], own) => {
      own.add(table)
      return judged(true)
    },
  ],
  [
    /^create (unique )?index (?:if not exists )?\w+ on (\w+) ?\(([^)]*)/,
    ([, unique, table = '', columns = ''], own) => {
      if (own.has(table)) return judged(true)
      // The previous version may write values that a unique index rejects, but never into a new column.
      const isOwn = columns.split(/,\s*/).some((column) => own.has(`${table}.${column.trim()}`))
      return judged(unique === undefined || isOwn, `writes to ${table}, until the index is built`)
    },
  ],
  [
    /^alter table (\w+) add column (\w+)(.*)$/,
    ([, table = '', column = '', rest = ''], own) => {
      own.add(`${table}.${column}`)
      const demands = /\bnot null\b/.test(rest) && !/\bdefault\b/.test(rest)
      const narrows = demands || /\b(unique|check|primary)\b/.test(rest)
      return judged(!narrows, `${table}, briefly`)
    },
  ],
  [/^insert into (\w+)/, ([, table = ''], own) => judged(own.has(table))],
  [
    /^update (\w+) set (\w+)/,
    ([, table = '', column = ''], own) => {
      if (own.has(table)) return judged(true)
      const waits = `writes to the rows of ${table} that the migration changes`
      return judged(own.has(`${table}.${column}`), waits)
    },
  ],
  // A trigger only adds, although it may fire on writes of the previous version. `set (` changes storage parameters.
  [
    /^(?:create trigger \w+ .*? on|alter table(?= \w+ set \()) (\w+)/,
    ([, table = '']) => judged(true, `${table}, briefly`),
  ],
  [/^create (or replace )?(function|view) /, () => judged(true)],
]

function judge(statement: string, own: Set<string>): StatementEffect {
  const lower = statement.toLowerCase()
  for (const [form, answer] of forms) {
    const match = form.exec(lower)
    if (match) return answer(match, own)
  }
  const [, table] = /^(?:alter|drop) table (?:if exists )?(\w+)/.exec(lower) ?? []
  return judged(false, table)
}

/** Splits a file into one-line statements, at semicolons that end a line outside of functions and triggers. */
function split(sql: string): string[] {
  const bare = sql.replaceAll(/--[^\n]*/g, '').replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
  const statements: string[] = []
  let open = ''
  for (const piece of bare.split(/;[ \t]*(?:\n|$)/)) {
    open = open === '' ? piece : `${open}; ${piece}`
    const line = open.replaceAll(/\s+/g, ' ').trim()
    const inBody = /^create trigger .* begin\b/i.test(line) && !/\bend$/i.test(line)
    if (inBody) continue
    if (line !== '') statements.push(line)
    open = ''
  }
  return statements
}
