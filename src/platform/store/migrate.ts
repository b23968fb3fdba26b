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

/** A row of the table schema_migration. */
interface AppliedMigration extends Migration {
  /** Whether a version that does not know the migration may run on this schema. */
  readonly effect: MigrationEffect
}

/** A separate connection for migrations, and the statements that differ by engine. */
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
 * Applies pending migrations: forward-only files in the order of their names, each in its own transaction. If
 * processes start together, one applies a file, because each checks again under the lock. Writes nothing if nothing
 * is pending, so that a start stays fast.
 *
 * @throws if files are pending and `migrations` is 'refuse'
 */
export async function migrate(session: MigrationSession, options: EngineOptions): Promise<void> {
  const scripts = await readScripts(options.migrationsFolder ?? ownMigrations, session.engine)
  const missing = pending(scripts, await listApplied(session))
  if (missing.length === 0) return
  if (options.migrations === 'refuse') {
    throw new Error(
      `The database schema lacks ${missing.map(({ name }) => name).join(', ')}. Run ` +
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

/** Returns the names of listed migrations that this version does not have with the same content. */
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
 * Runs a file in a transaction, and retries while its tables are locked. A statement that waits for a table blocks
 * all later queries of that table. So it waits only briefly, and requests proceed between the attempts.
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
      // Ignore a failed rollback: the first error says more.
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

/** Reads the files of an engine: `*.sql` without another engine in the name, such as `.sqlite.sql`. */
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

/** Returns the migrations to apply. @throws if code and database have different histories */
function pending(scripts: readonly Script[], applied: readonly AppliedMigration[]): Script[] {
  const known = digestsByName(scripts)
  for (const { name, digest, effect } of applied) {
    const expected = known.get(name)
    // This version can run on a schema that a newer version only extended.
    if (expected === undefined && effect === 'expand') continue
    if (expected === undefined) {
      throw new Error(
        `The database has the migration ${name} of a newer version. Start that version again, or restore a backup from before the upgrade.`,
      )
    }
    if (expected !== digest) {
      throw new Error(
        `The migration ${name} was changed after this database applied it. Restore the released file, and put the change into a new migration.`,
      )
    }
  }
  const done = digestsByName(applied)
  return scripts.filter(({ name }) => !done.has(name))
}

/**
 * The effect of a migration on processes of the previous version. `expand` only adds, so they still run and start;
 * `contract` removes or narrows what they may use.
 */
export type MigrationEffect = 'expand' | 'contract'

export interface StatementEffect {
  /** The start of the statement, to find it in the file. */
  readonly text: string
  readonly effect: MigrationEffect
  /** The queries that wait while it runs. */
  readonly waits?: string
}

/** Returns the effect of a file: `contract` if any statement contracts. */
export function effectOf(sql: string): MigrationEffect {
  return statementsOf(sql).some(({ effect }) => effect === 'contract') ? 'contract' : 'expand'
}

const TEXT_CHARACTERS = 72

/** Returns the effect of each statement. A statement that matches no form below contracts. */
export function statementsOf(sql: string): StatementEffect[] {
  const made = new Set<string>()
  const added = new Set<string>()
  return split(sql).map((statement) => {
    const judged = judge(statement, { made, added })
    const text = statement.length <= TEXT_CHARACTERS ? statement : `${statement.slice(0, 71)}…`
    return { text, ...judged }
  })
}

/** Tables and columns that the same file created earlier, so nothing uses them yet. */
interface Own {
  readonly made: Set<string>
  /** As `table.column`. */
  readonly added: Set<string>
}

type Judgement = Omit<StatementEffect, 'text'>

const forms: readonly (readonly [
  form: RegExp,
  judge: (match: RegExpExecArray, own: Own) => Judgement,
])[] = [
  [
    /^create (?:unlogged )?table (?:if not exists )?(\w+)/,
    ([, table = ''], { made }) => {
      made.add(table)
      return { effect: 'expand' }
    },
  ],
  [
    /^create (unique )?index (?:if not exists )?\w+ on (\w+) ?\(([^)]*)/,
    ([, unique, table = '', columns = ''], { made, added }) => {
      if (made.has(table)) return { effect: 'expand' }
      // The previous version may write values that the index rejects, but not into a new column.
      const own = columns.split(/,\s*/).some((column) => added.has(`${table}.${column.trim()}`))
      const effect = unique === undefined || own ? 'expand' : 'contract'
      return { effect, waits: `writes of ${table}, until the index is built` }
    },
  ],
  [
    /^alter table (\w+) add column (\w+)(.*)$/,
    ([, table = '', column = '', rest = ''], { added }) => {
      added.add(`${table}.${column}`)
      const demands = /\bnot null\b/.test(rest) && !/\bdefault\b/.test(rest)
      const narrows = demands || /\b(unique|check|primary)\b/.test(rest)
      return { effect: narrows ? 'contract' : 'expand', waits: `${table}, for a moment` }
    },
  ],
  [
    /^insert into (\w+)/,
    ([, table = ''], { made }) => ({ effect: made.has(table) ? 'expand' : 'contract' }),
  ],
  [
    /^update (\w+) set (\w+)/,
    ([, table = '', column = ''], { made, added }) => {
      if (made.has(table)) return { effect: 'expand' }
      const effect = added.has(`${table}.${column}`) ? 'expand' : 'contract'
      return { effect, waits: `writes of the rows of ${table} that it changes` }
    },
  ],
  // A trigger also runs for the previous version, on purpose. `set (` changes storage parameters.
  [
    /^(?:create trigger \w+ .*? on|alter table(?= \w+ set \()) (\w+)/,
    ([, table = '']) => ({ effect: 'expand', waits: `${table}, for a moment` }),
  ],
  [/^create (or replace )?(function|view) /, () => ({ effect: 'expand' })],
]

function judge(statement: string, own: Own): Judgement {
  const lower = statement.toLowerCase()
  for (const [form, answer] of forms) {
    const match = form.exec(lower)
    if (match) return answer(match, own)
  }
  const [, table] = /^(?:alter|drop) table (?:if exists )?(\w+)/.exec(lower) ?? []
  return { effect: 'contract', ...(table !== undefined && { waits: table }) }
}

/**
 * Splits a file into statements, each as one line. A semicolon at the end of a line ends a statement (a rule for our
 * files), except in the body of a function or SQLite trigger.
 */
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
