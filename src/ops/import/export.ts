import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { type InnerList, type KindName, kindOf } from './kinds.ts'
import { fieldNames } from './read-record.ts'
import { references } from './references.ts'

/** As many records as one query reads. */
const PAGE = { sqlite: 250, postgres: 1000 } as const

type Row = Readonly<Record<string, unknown>>

/**
 * Every record of a kind, each as `import` takes it. It reads page by page by key, and not one moment:
 * what changes meanwhile is as it was or as it will be.
 */
export async function* exportKind(database: Database, type: KindName): AsyncGenerator<Row> {
  for await (const rows of pagesOf(database, type)) {
    for (const record of await withInner(database, type, rows)) yield { type, ...record }
  }
}

async function* pagesOf(
  { kysely, engine }: Database,
  type: KindName,
): AsyncGenerator<readonly Row[]> {
  const { table, key } = kindOf(type)
  const keys = sql.join(key.map((column) => sql.ref(column)))
  // An announcement that was removed waits for its notifications to go.
  const lives = type === 'post' ? sql`removed_at is null` : sql`1 = 1`
  let last: readonly unknown[] | undefined
  while (true) {
    const after = last ? sql`where (${keys}) > (${sql.join(last)}) and` : sql`where`
    const { rows } = await sql<Row>`select * from ${sql.table(table)} ${after} ${lives}
      order by ${keys} limit ${PAGE[engine]}`.execute(kysely)
    if (rows.length === 0) return
    yield rows
    last = key.map((column) => rows.at(-1)?.[column])
  }
}

async function withInner(database: Database, type: KindName, rows: readonly Row[]): Promise<Row[]> {
  const { inner = [], key } = kindOf(type)
  const records = rows.map((row) => ({ row, fields: fieldsOf(type, row) }))
  for (const list of inner) {
    const entries = await entriesOf(
      database,
      list,
      rows.map((row) => row[key[0] ?? 'id']),
    )
    for (const { row, fields } of records) {
      const own = entries.filter((entry) => entry[list.parent] === row[key[0] ?? 'id'])
      fields[list.field] = own.map((entry) => innerValue(list, entry))
    }
  }
  return records.map(({ fields }) => fields)
}

async function entriesOf({ kysely }: Database, list: InnerList, parents: readonly unknown[]) {
  const order = [list.parent, list.position ?? list.key.at(-1) ?? 'id'].map((column) =>
    sql.ref(column),
  )
  const { rows } = await sql<Row>`select * from ${sql.table(list.table)}
    where ${sql.ref(list.parent)} in (${sql.join(parents)}) order by ${sql.join(order)}`.execute(
    kysely,
  )
  return rows
}

/** Lists of one column are lists of texts. */
function innerValue({ table, parent, position }: InnerList, entry: Row): unknown {
  const hidden = [parent, position, ...(table === 'section' ? ['created_at'] : [])]
  const columns = Object.entries(entry).filter(([column]) => !hidden.includes(column))
  const [only] = columns
  if (columns.length === 1 && only && table !== 'section') return only[1]
  return Object.fromEntries(
    columns.map(([column, value]) => [fieldOf(column), fieldValue(column, value)]),
  )
}

/** The columns that are fields of a record: what else a row has is made of them, or kept by a process. */
function fieldsOf(type: KindName, row: Row): Record<string, unknown> {
  const known = fieldNames(type)
  const fields = Object.entries(row).map(
    ([column, value]) => [fieldOf(column), fieldValue(column, value)] as const,
  )
  return Object.fromEntries(fields.filter(([field]) => known.has(field)))
}

function fieldOf(column: string): string {
  const name = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const named = name.replace(/Id$/, '')
  return references.some((reference) => reference === named) ? named : name
}

function fieldValue(column: string, value: unknown): unknown {
  return column.endsWith('_at') && value !== null ? new Date(Number(value)).toISOString() : value
}
