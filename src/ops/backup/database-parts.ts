import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import BetterSqlite from 'better-sqlite3'
import type { Client } from 'pg'

import {
  RESTORE_NOT_FINISHED,
  refuseUnfinished,
  UNFINISHED_RESTORE,
  withClient,
} from '../../platform/store/postgres.ts'
import { type Contents, codeOf } from './manifest.ts'

const LOCK_TIMEOUT_MS = 30_000

/** More pages than a database has in practice, so one step copies all pages. */
const ALL_PAGES = 0x7fffffff

/**
 * Copies a SQLite database, which may be in use. The copy is made in one read transaction, so it is consistent even
 * while writes continue. A copy in several steps would restart whenever another process writes.
 */
export async function copySqlite(file: string, target: string): Promise<Contents> {
  await withSqlite(file, asSource, (source) => source.backup(target, { progress: () => ALL_PAGES }))
  return await withSqlite(target, {}, async (copy) => {
    // Leave WAL mode, so the copy is a single file.
    copy.pragma('journal_mode = DELETE')
    return await readSqliteContents(copy)
  })
}

/** Reads the row counts, migrations and file ids of a copy. @throws if SQLite finds damage */
export async function readSqliteCopy(file: string): Promise<Contents> {
  return await withSqlite(file, asSource, async (copy) => {
    const found = copy.pragma('integrity_check(1)', { simple: true })
    if (found !== 'ok') throw new Error(`The copy of the database is damaged: ${found}`)
    return await readSqliteContents(copy)
  })
}

const asSource = { readonly: true, fileMustExist: true, timeout: LOCK_TIMEOUT_MS }

async function withSqlite<Result>(
  file: string,
  options: BetterSqlite.Options,
  work: (connection: BetterSqlite.Database) => Promise<Result>,
): Promise<Result> {
  const connection = new BetterSqlite(file, options)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}

async function readSqliteContents(connection: BetterSqlite.Database): Promise<Contents> {
  return await readContents(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'",
    async (query) => connection.prepare<[], Row>(query).all(),
  )
}

/** A PostgreSQL server, and the environment of the programs that connect to it. */
export interface ServerAccess {
  readonly url: string
  readonly environment: NodeJS.ProcessEnv
}

/** The time limit for one statement of a backup or restore. */
const STATEMENT = { timeoutMs: 60 * 60_000 }

/**
 * The time limit for each lock that the dump acquires. It ends a deadlock that PostgreSQL cannot detect: a schema
 * change waits for our transaction, our transaction waits for the dump, and the dump waits for the schema change.
 */
const LOCK_WAIT_MS = 10_000

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** Runs pg_dump on a database, which may be in use. Counts the rows in the same snapshot, so the counts match. */
export async function dumpPostgres(access: ServerAccess, target: string): Promise<Contents> {
  return await withClient(access.url, STATEMENT, async (client) => {
    await refuseUnfinished(client)
    await client.query('begin isolation level repeatable read read only')
    const { rows } = await client.query('select pg_export_snapshot() as snapshot')
    const contents = await readPostgresContents(client)
    const snapshot = `--snapshot=${rows[0]?.snapshot}`
    const format = ['--format=custom', '--no-owner', '--no-privileges', snapshot]
    const lockWait = `--lock-wait-timeout=${LOCK_WAIT_MS}`
    await runTool('pg_dump', [...format, lockWait, `--file=${target}`], access)
    await client.query('commit')
    return contents
  })
}

const DUPLICATE_TABLE = '42P07'

/**
 * Restores a dump into an empty database, completely or not at all. No service can open the database until
 * `finishPostgres` is called. Throws if another restore into the database is unfinished.
 */
export async function restorePostgres(access: ServerAccess, dump: string): Promise<Contents> {
  await withClient(access.url, STATEMENT, async (client) => {
    await client.query(`create table ${UNFINISHED_RESTORE} ()`).catch((error: unknown) => {
      throw codeOf(error) === DUPLICATE_TABLE
        ? new Error(RESTORE_NOT_FINISHED, { cause: error })
        : error
    })
  })
  const options = ['--no-owner', '--no-privileges', '--single-transaction', '--exit-on-error']
  try {
    await runTool('pg_restore', [...options, dump], access)
  } catch (error) {
    // pg_restore rolled back, so remove the marker to permit another restore.
    await finishPostgres(access.url)
    throw error
  }
  return await withClient(access.url, STATEMENT, readPostgresContents)
}

/** Removes the marker of an unfinished restore, so services can open the database. */
export async function finishPostgres(url: string): Promise<void> {
  await withClient(url, STATEMENT, (client) => client.query(`drop table ${UNFINISHED_RESTORE}`))
}

/** Counts the tables, views and sequences in the current schema. */
export async function countRelations(url: string): Promise<number> {
  return await withClient(url, STATEMENT, async (client) => {
    const { rows } = await client.query(
      `select count(*)::int as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'S')`,
    )
    return rows[0]?.found ?? 0
  })
}

/** Lists the tables whose data a dump contains. */
export async function listDumpedTables(dump: string): Promise<string[]> {
  const contents = await runTool('pg_restore', ['--list', dump])
  return [...contents.matchAll(/ TABLE DATA \S+ (\S+) /g)].map(([, table = '']) => table)
}

async function readPostgresContents(client: Client): Promise<Contents> {
  return await readContents(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = current_schema() and c.relkind in ('r', 'p') and c.relname <> '${UNFINISHED_RESTORE}'`,
    async (query) => (await client.query<Row>(query)).rows,
  )
}

interface Row {
  readonly name: string
  readonly digest: string
  readonly count: number | string
}

async function readContents(listTables: string, query: (text: string) => Promise<Row[]>) {
  const rows: Record<string, number> = {}
  for (const { name } of (await query(listTables)).sort(byName)) {
    const [found] = await query(`select count(*) as count from "${name}"`)
    rows[name] = Number(found?.count)
  }
  const schema = await query('select name, digest from schema_migration')
  const files = await query('select id as name from stored_file')
  return { schema: schema.sort(byName), rows, fileIds: files.map(({ name }) => name) }
}

function byName(one: Row, other: Row): number {
  return one.name < other.name ? -1 : 1
}

/** Runs a PostgreSQL program. Passes the password in the environment, which other users cannot read. */
async function runTool(
  program: 'pg_dump' | 'pg_restore',
  options: readonly string[],
  access?: ServerAccess,
): Promise<string> {
  const [target, password] = access === undefined ? [[], ''] : connectionOf(access.url)
  const env = access && { ...access.environment, ...(password !== '' && { PGPASSWORD: password }) }
  try {
    const { stdout } = await promisify(execFile)(program, [...target, ...options], {
      ...(env && { env }),
      maxBuffer: OUTPUT_BYTES_MAX,
    })
    return stdout
  } catch (error) {
    throw describeFailure(program, error)
  }
}

/** Separates the password from a URL. Like the service, prefers a password in the query string. */
function connectionOf(url: string): readonly [options: readonly string[], password: string] {
  const target = new URL(url)
  const password = target.searchParams.get('password') ?? decodeURIComponent(target.password)
  target.password = ''
  // URLSearchParams would encode a space as +, which libpq does not decode.
  const rest = target.search.slice(1).split('&')
  target.search = rest.filter((parameter) => !/^password(=|$)/.test(parameter)).join('&')
  return [[`--dbname=${target.href}`], password]
}

function describeFailure(program: string, error: unknown): Error {
  if (codeOf(error) === 'ENOENT') {
    return new Error(
      `${program} is not installed. Install the PostgreSQL client programs (postgresql-client) of ` +
        "the server's major version or later, and add them to PATH.",
    )
  }
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
  return new Error(`${program} failed: ${output || String(error)}`)
}
