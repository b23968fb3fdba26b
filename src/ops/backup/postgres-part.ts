import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { Client } from 'pg'

import { withClient } from '../../platform/store/postgres.ts'
import {
  markFinished,
  markUnfinished,
  refuseUnfinished,
  UNFINISHED_RESTORE,
} from '../../platform/store/unfinished-restore.ts'
import type { Contents } from './sqlite-part.ts'

/** A server, and the environment of the programs that speak to it. */
export interface ServerAccess {
  readonly url: string
  readonly environment: NodeJS.ProcessEnv
}

/** How long one statement of a backup may take. */
const STATEMENT_TIMEOUT_MS = 60 * 60_000

/**
 * How long the dump waits for a table. Whoever wants to change one waits for the transaction of the counts, which
 * waits for the dump, which would wait for them: a circle that no server sees, and everybody behind it.
 */
const LOCK_WAIT_MS = 10_000

/** What the programs say that we pass on, at most. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * Dumps a database in use by PostgreSQL's own program, and counts its rows in the same snapshot, so that
 * the counts are those of the dump whatever is written meanwhile.
 */
export async function dumpPostgres(
  { url, environment }: ServerAccess,
  target: string,
): Promise<Contents> {
  return await withClient(url, { timeoutMs: STATEMENT_TIMEOUT_MS }, async (client) => {
    await refuseUnfinished(client)
    await client.query('begin isolation level repeatable read read only')
    const { rows } = await client.query('select pg_export_snapshot() as snapshot')
    const contents = await contentsOf(client)
    const snapshot = `--snapshot=${rows[0]?.snapshot}`
    const form = ['--format=custom', '--no-owner', '--no-privileges', snapshot]
    const patience = `--lock-wait-timeout=${LOCK_WAIT_MS}`
    await runTool('pg_dump', [...form, patience, `--file=${target}`], { url, environment })
    await client.query('commit')
    return contents
  })
}

/**
 * Brings a dump into an empty database: all of it or nothing. Nobody can use it before `finishPostgres`.
 */
export async function restorePostgres(access: ServerAccess, dump: string): Promise<Contents> {
  await withClient(access.url, { timeoutMs: STATEMENT_TIMEOUT_MS }, markUnfinished)
  const form = ['--no-owner', '--no-privileges', '--single-transaction', '--exit-on-error']
  try {
    await runTool('pg_restore', [...form, dump], access)
  } catch (error) {
    // Then nothing was brought, and the next one may begin here.
    await finishPostgres(access.url)
    throw error
  }
  return await withClient(access.url, { timeoutMs: STATEMENT_TIMEOUT_MS }, contentsOf)
}

/** Gives a database to whoever wants to use it. */
export async function finishPostgres(url: string): Promise<void> {
  await withClient(url, { timeoutMs: STATEMENT_TIMEOUT_MS }, markFinished)
}

/** How many tables, views and sequences a database has where ours would be. */
export async function countRelations(url: string): Promise<number> {
  return await withClient(url, { timeoutMs: STATEMENT_TIMEOUT_MS }, async (client) => {
    const { rows } = await client.query(
      `select count(*)::int as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'S')`,
    )
    return rows[0]?.found ?? 0
  })
}

/** The tables whose rows a dump has, by its own table of contents. */
export async function listDumpedTables(dump: string): Promise<string[]> {
  const contents = await runTool('pg_restore', ['--list', dump])
  return [...contents.matchAll(/ TABLE DATA \S+ (\S+) /g)].map(([, table = '']) => table)
}

async function contentsOf(client: Client): Promise<Contents> {
  const tables = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = current_schema() and c.relkind in ('r', 'p') and c.relname <> $1
     order by c.relname collate "C"`,
    [UNFINISHED_RESTORE],
  )
  const rows: Record<string, number> = {}
  for (const { name } of tables.rows) {
    const found = await client.query<{ rows: number }>(
      `select count(*)::float8 as rows from "${name}"`,
    )
    rows[name] = found.rows[0]?.rows ?? 0
  }
  const applied = await client.query<{ name: string; digest: string }>(
    'select name, digest from schema_migration order by name collate "C"',
  )
  return { schema: applied.rows, rows }
}

/** Runs a program of PostgreSQL; a password goes by its environment, which others cannot list. */
async function runTool(
  program: 'pg_dump' | 'pg_restore',
  words: readonly string[],
  access?: ServerAccess,
): Promise<string> {
  const [target, password] = access === undefined ? [[], ''] : connectionOf(access.url)
  const env = access && { ...access.environment, ...(password !== '' && { PGPASSWORD: password }) }
  try {
    const { stdout } = await promisify(execFile)(program, [...target, ...words], {
      ...(env && { env }),
      maxBuffer: OUTPUT_BYTES_MAX,
    })
    return stdout
  } catch (error) {
    throw inWords(program, error)
  }
}

/** An address may have its password in either place; the program takes the one of the query, as the service does. */
function connectionOf(url: string): readonly [words: readonly string[], password: string] {
  const target = new URL(url)
  const password = target.searchParams.get('password') ?? decodeURIComponent(target.password)
  target.password = ''
  // Taken out of its text, because the program reads no + as a space, as which it would be written anew.
  const rest = target.search.slice(1).split('&')
  target.search = rest.filter((one) => !/^password(=|$)/.test(one)).join('&')
  return [[`--dbname=${target.href}`], password]
}

function inWords(program: string, error: unknown): Error {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
    return new Error(
      `${program} is not installed here. Install PostgreSQL's client programs, of the version of ` +
        'the server or newer (postgresql-client), and have them in PATH.',
    )
  }
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
  return new Error(`${program} failed: ${said || String(error)}`)
}
