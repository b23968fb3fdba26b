import { join } from 'node:path'

import Sqlite from 'better-sqlite3'
import { Redis } from 'ioredis'
import pg from 'pg'

import type { Variables } from '../test/support/process.ts'
import type { Progress } from './progress.ts'
import {
  type Copying,
  copyOf,
  type Kind,
  kinds,
  type NewIdentifier,
  newIdentifiers,
  type Sample,
  type SqlRow,
} from './sample.ts'
import { readRedisSample, writeRedisCopies } from './seed-redis.ts'

/** How many bytes a store needs for one of each kind, its indexes included. */
export type BytesOfKind = Readonly<Record<Kind, number>>

export interface Filled {
  readonly sql: BytesOfKind
  readonly redis: BytesOfKind | undefined
}

/** Rows of one statement or transaction: what fits into memory easily. */
const BATCH = 5000

/**
 * Multiplies what one sign-in left in the stores of a place, grant by grant: what the service
 * itself wrote is copied with other identifiers, so that no shape of a record stands here. The
 * service must not run meanwhile.
 *
 * @param tokens of the one sign-in
 */
export async function fill(
  place: Variables,
  size: number,
  { tokens, progress }: { tokens: readonly string[]; progress: Progress },
): Promise<Filled> {
  const { DATABASE_URL, DATA_DIR = '', REDIS_URL } = place
  await using database = DATABASE_URL
    ? await openPostgres(DATABASE_URL)
    : openSqlite(join(DATA_DIR, 'gatehouse.db'))
  const redis = REDIS_URL === undefined ? undefined : new Redis(REDIS_URL)
  const sample: Sample = {
    rows: await database.read(),
    records: redis ? await readRedisSample(redis) : [],
  }
  const identifiers = newIdentifiers(sample, tokens)
  const bytes = { sql: emptyBytes(), redis: emptyBytes() }
  for (const kind of kinds) {
    const before = [await database.bytes(), await redisBytes(redis)] as const
    for (let from = 1; from < size; from += BATCH) {
      const to = Math.min(size - 1, from + BATCH - 1)
      progress.step(`${kind} ${to} of ${size}`)
      const rows = sample.rows.filter((row) => row.kind === kind)
      await database.copy(rows, { from, to, identifiers })
      const records = sample.records.filter((record) => record.kind === kind)
      if (redis) await writeRedisCopies(redis, records, { from, to, identifiers })
    }
    bytes.sql[kind] = Math.max(0, (await database.bytes()) - before[0]) / size
    bytes.redis[kind] = Math.max(0, (await redisBytes(redis)) - before[1]) / size
  }
  redis?.disconnect()
  return { sql: bytes.sql, redis: redis && bytes.redis }
}

/** How many times `fill` takes a step. */
export function fillSteps(size: number): number {
  return kinds.length * Math.ceil((size - 1) / BATCH)
}

function emptyBytes(): Record<Kind, number> {
  return { grant: 0, 'refresh token family': 0, 'access token': 0 }
}

async function redisBytes(redis: Redis | undefined): Promise<number> {
  const memory = (await redis?.info('memory')) ?? ''
  return Number(/^used_memory:(\d+)/m.exec(memory)?.[1] ?? 0)
}

/** The tables of what a sign-in leaves behind, a parent before its children. */
const tables = ['oauth_grant', 'oauth_grant_scope', 'refresh_token_family', 'oauth_state'] as const

interface SqlStore extends AsyncDisposable {
  read(): Promise<SqlRow[]>
  copy(rows: readonly SqlRow[], copying: Copying): Promise<void>
  bytes(): Promise<number>
}

function rowsOf(table: string, rows: readonly Record<string, unknown>[]): SqlRow[] {
  return rows.flatMap((row) => {
    const kind = kindOf(table, row['model'])
    return kind ? [{ table, kind, row }] : []
  })
}

function kindOf(table: string, model: unknown): Kind | undefined {
  if (table === 'refresh_token_family' || model === 'RefreshToken') return 'refresh token family'
  if (model === 'AccessToken') return 'access token'
  return table === 'oauth_state' ? undefined : 'grant'
}

async function openPostgres(connectionString: string): Promise<SqlStore> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return {
    async read() {
      const found: SqlRow[] = []
      for (const table of tables) {
        const { rows } = await client.query(`select to_jsonb(t) as row from ${table} t`)
        found.push(
          ...rowsOf(
            table,
            rows.map(({ row }) => row),
          ),
        )
      }
      return found
    },
    async copy(rows, { from, to, identifiers }) {
      let text = '$3::text'
      for (const [known, next] of identifiers) text = `replace(${text}, '${known}', ${inSql(next)})`
      for (const { table, row } of rows) {
        await client.query(
          `insert into ${table} select copied.* from generate_series($1::int, $2::int) as i,
           json_populate_record(null::${table}, (${text})::json) as copied`,
          [from, to, JSON.stringify(row)],
        )
      }
    },
    async bytes() {
      await client.query('vacuum analyze')
      const { rows } = await client.query('select pg_database_size(current_database()) as bytes')
      return Number(rows[0].bytes)
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** `identifierOf` in the words of PostgreSQL. */
function inSql({ name, ofToken }: NewIdentifier): string {
  const digestOf = (text: string) =>
    `translate(rtrim(encode(sha256(convert_to(${text}, 'UTF8')), 'base64'), '='), '+/', '-_')`
  const value = digestOf(`'${name} ' || i`)
  return ofToken ? digestOf(value) : value
}

function openSqlite(file: string): SqlStore {
  const database = new Sqlite(file)
  return {
    async read() {
      return tables.flatMap((table) =>
        rowsOf(
          table,
          database.prepare(`select * from ${table}`).all() as Record<string, unknown>[],
        ),
      )
    },
    async copy(rows, { from, to, identifiers }) {
      database.transaction(() => {
        for (const { table, row } of rows) {
          const names = Object.keys(row)
          const values = names.map((name) => `@${name}`)
          const insert = database.prepare(
            `insert into ${table} (${names}) values (${values.join(', ')})`,
          )
          const text = JSON.stringify(row)
          for (let i = from; i <= to; i += 1) insert.run(JSON.parse(copyOf(text, identifiers, i)))
        }
      })()
    },
    async bytes() {
      const pages = Number(database.pragma('page_count', { simple: true }))
      return pages * Number(database.pragma('page_size', { simple: true }))
    },
    async [Symbol.asyncDispose]() {
      database.close()
    },
  }
}
