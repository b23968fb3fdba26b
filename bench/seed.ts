import { join } from 'node:path'

import Sqlite from 'better-sqlite3'
import pg from 'pg'

import type { Variables } from '../test/support/process.ts'
import type { Progress } from './progress.ts'
import {
  type CopiedTokens,
  copiedTokens,
  copyOf,
  identifiersIn,
  type Kind,
  kinds,
  type NewIdentifier,
  type Sample,
  type SampleRow,
  sampleOf,
  type Table,
  tables,
} from './sample.ts'

export interface Filled {
  /** The size in the database of one person, one grant and one family, with indexes. */
  readonly bytes: Readonly<Record<Kind, number>>
  readonly tokens: CopiedTokens
}

/** The number of copies per statement or transaction. */
const BATCH = 5000

const tableNames = Object.keys(tables) as Table[]

/**
 * Fills a store with copies of the rows of the only person with a grant, each copy with new identifiers. Because rows
 * are copied, this file need not repeat the schema. The service must be stopped.
 *
 * @param accessToken an access token of that grant
 */
export async function fill(
  { DATABASE_URL, DATA_DIR = '', SECRET: secret = '' }: Variables,
  size: number,
  { accessToken, progress }: { readonly accessToken: string; readonly progress: Progress },
): Promise<Filled> {
  await using database = DATABASE_URL
    ? await openPostgres(DATABASE_URL)
    : openSqlite(join(DATA_DIR, 'gatehouse.db'))
  const sample = sampleOf(await database.read())
  const bytes: Record<Kind, number> = { person: 0, grant: 0, family: 0 }
  for (const kind of kinds) {
    const before = await database.bytes()
    const rows = sample.rows.filter(({ table }) => tables[table] === kind)
    for (let from = 1; from < size; from += BATCH) {
      const to = Math.min(size - 1, from + BATCH - 1)
      progress.step(`${kind} ${to} of ${size}`)
      await database.copy(rows, { from, to, identifiers: sample.identifiers })
    }
    bytes[kind] = ((await database.bytes()) - before) / (size - 1)
  }
  return { bytes, tokens: copiedTokens(sample, { secret, accessToken }) }
}

/** Returns the number of progress steps of `fill`. */
export function fillSteps(size: number): number {
  return kinds.length * Math.ceil((size - 1) / BATCH)
}

/** The range of copies to create. */
interface Copying extends Pick<Sample, 'identifiers'> {
  readonly from: number
  readonly to: number
}

interface SqlStore extends AsyncDisposable {
  read(): Promise<SampleRow[]>
  copy(rows: readonly SampleRow[], copying: Copying): Promise<void>
  /** Returns the size of the database. */
  bytes(): Promise<number>
}

async function openPostgres(connectionString: string): Promise<SqlStore> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return {
    async read() {
      const found: SampleRow[] = []
      for (const table of tableNames) {
        const { rows } = await client.query(`select to_jsonb(t) as row from ${table} t`)
        found.push(...rows.map(({ row }) => ({ table, row })))
      }
      return found
    },
    async copy(rows, { from, to, identifiers }) {
      for (const { table, row } of rows) {
        const original = JSON.stringify(row)
        let text = '$3::text'
        for (const [known, next] of identifiersIn(original, identifiers)) {
          text = `replace(${text}, '${known}', ${inSql(next)})`
        }
        await client.query(
          `insert into ${table} select copied.* from generate_series($1::int, $2::int) as i,
           json_populate_record(null::${table}, (${text})::json) as copied`,
          [from, to, original],
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

/** Returns the SQL expression for the identifier of copy i. */
function inSql({ name, ending }: NewIdentifier): string {
  const digest = `sha256(convert_to('${name} ' || i, 'UTF8'))`
  return `translate(rtrim(encode(${digest}, 'base64'), '='), '+/', '-_') || '${ending}'`
}

function openSqlite(file: string): SqlStore {
  const database = new Sqlite(file)
  return {
    async read() {
      return tableNames.flatMap((table) =>
        database
          .prepare<[], SampleRow['row']>(`select * from ${table}`)
          .all()
          .map((row) => ({ table, row })),
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
          const original = JSON.stringify(row)
          const found = identifiersIn(original, identifiers)
          for (let i = from; i <= to; i += 1) insert.run(JSON.parse(copyOf(original, found, i)))
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
