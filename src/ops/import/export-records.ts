import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { type KindName, kindOf } from './record-kinds.ts'
import { columnName, fieldsOf, type InnerList, type RecordKind, type Row } from './record-rows.ts'

const PAGE_ROWS = 250

/**
 * Reads the records of a kind, in the format that `import` accepts. Reads page by page, without a snapshot, so the
 * export may include some concurrent changes and miss others.
 */
export async function* exportKind(database: Database, type: KindName): AsyncGenerator<Row> {
  const kind = kindOf(type)
  const keys = (kind.key ?? ['id']).map(columnName)
  const { parent = '', lists = [] } = kind.inner ?? {}
  for await (const rows of pagesOf(database, kind.table, keys)) {
    const ids = rows.map((row) => row[keys[0] ?? ''])
    const records = rows.map((row) => {
      const record: Record<string, unknown> = { type, ...fieldsOf(kind.schema, row) }
      for (const field of kind.json ?? []) record[field] = JSON.parse(String(record[field]))
      return record
    })
    for (const list of lists) {
      const found = await entriesOf(database, list, parent, ids)
      const entries = Map.groupBy(found, (row) => row[parent])
      const readEntry = entryReader(kind, list)
      for (const [index, record] of records.entries()) {
        record[list.field] = (entries.get(ids[index]) ?? []).map(readEntry)
      }
    }
    yield* records
  }
}

/** The conditions for exporting a row, by table. Exported tables without a condition are exported in full. */
const conditions: Readonly<Record<string, RawBuilder<unknown>>> = {
  // A removed post remains in the table until its notifications are deleted.
  post: sql`removed_at is null`,
  // Records have no fields for these columns. An import would therefore reactivate deleted and disabled applications.
  oauth_application: sql`deleted_at is null and disabled_at is null`,
}

async function* pagesOf({ kysely }: Database, table: string, keys: readonly string[]) {
  const order = sql.join(keys.map((column) => sql.ref(column)))
  const exists = conditions[table] ?? sql`1 = 1`
  let last: readonly unknown[] | undefined
  while (true) {
    const after = last ? sql`where (${order}) > (${sql.join(last)}) and` : sql`where`
    const { rows } = await sql<Row>`select * from ${sql.table(table)} ${after} ${exists}
      order by ${order} limit ${PAGE_ROWS}`.execute(kysely)
    if (rows.length === 0) return
    yield rows
    last = keys.map((column) => rows.at(-1)?.[column])
  }
}

async function entriesOf(
  { kysely }: Database,
  { table, key, position }: InnerList,
  parent: string,
  ids: readonly unknown[],
): Promise<Row[]> {
  const order = [parent, ...(position ? ['position'] : key)].map((column) => sql.ref(column))
  const { rows } = await sql<Row>`select * from ${sql.table(table)}
    where ${sql.ref(parent)} in (${sql.join(ids)}) order by ${sql.join(order)}`.execute(kysely)
  return rows
}

/** Creates a function that converts a row to an entry of its list. An entry is an object or a string. */
function entryReader({ schema }: RecordKind, { field, key }: InnerList): (row: Row) => unknown {
  const { element } = (schema.shape[field] as z.ZodDefault<z.ZodArray>).unwrap()
  if (element instanceof z.ZodObject) return (row) => fieldsOf(element, row)
  return (row) => row[key.at(-1) ?? '']
}
