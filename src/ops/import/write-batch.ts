import { type RawBuilder, sql, type Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import { findContradiction } from './contradictions.ts'
import { endAccess } from './ended-access.ts'
import { findEndedSessions, signOut } from './ended-sessions.ts'
import { type InnerList, type KindName, kindNames, kindOf } from './kinds.ts'
import type { DataRecord } from './read-record.ts'
import { campusRows, columnOf } from './rows.ts'
import type { Campus } from './shape.ts'
import { lists } from './shape.ts'

export interface Writing {
  readonly nowMs: number
  /** The password hash of a person's id. */
  readonly passwordHashes: ReadonlyMap<string, string>
}

/** Something of a batch contradicts what is in the database, or what else is in the batch. */
export class Contradiction extends Error {}

/**
 * Makes the rows of some records be as the records say: new ones are made, others changed where a
 * field is another, and those of an inner list that it does not have any more are removed. Fields that
 * a line does not have stay as they are.
 *
 * @throws Contradiction, or what the database says of a name that leads nowhere or is taken
 */
export async function writeBatch(
  trx: Transaction<Schema>,
  records: readonly DataRecord[],
  writing: Writing,
): Promise<void> {
  const byKind = Map.groupBy(records, ({ type }) => type)
  for (const type of kindNames) {
    const ofKind = byKind.get(type) ?? []
    await removeRows(
      trx,
      type,
      ofKind.filter(({ deleted }) => deleted),
    )
    const kept = ofKind.filter(({ deleted }) => !deleted)
    // What one statement writes has the same columns, and nearly always all lines of a file have.
    const alike = Map.groupBy(kept, ({ given }) => [...given].sort().join())
    for (const some of alike.values()) await writeRows(trx, some, { type, writing })
  }
  const contradiction = await findContradiction(trx, byKind)
  if (contradiction !== undefined) throw new Contradiction(contradiction)
}

const empty = Object.fromEntries(Object.keys(lists).map((name) => [name, []]))

/** A row on its way to the database; the forms have checked it. */
type Row = Readonly<Record<string, unknown>>

async function writeRows(
  trx: Transaction<Schema>,
  records: readonly DataRecord[],
  { type, writing }: { readonly type: KindName; readonly writing: Writing },
): Promise<void> {
  const { list, table, key, inner = [] } = kindOf(type)
  const values = records.map((record) => record.values)
  const rows: Readonly<Record<string, readonly Row[]>> = campusRows(
    { ...empty, [list]: values } as unknown as Campus,
    writing,
  )
  const given = records[0]?.given ?? new Set()
  const changed = columnsGiven(given, Object.keys(rows[table]?.[0] ?? {}))
  const people = table === 'person' ? (rows[table] ?? []) : []
  const signedOut = await findEndedSessions(trx, people, changed)
  await upsert(trx, { table, key, rows: rows[table] ?? [], changed })
  await signOut(trx, signedOut, writing.nowMs)
  if (table === 'person') await endAccess(trx, records, writing.nowMs)
  const parents = records.map(({ id }) => id)
  for (const list of inner) {
    const isGiven = given.has(list.field) || (list.field === 'secrets' && given.has('secret'))
    if (isGiven) await replaceInner(trx, { list, parents, rows: rows[list.table] ?? [] })
  }
}

/** The columns of a row that come from fields of the line. */
function columnsGiven(given: ReadonlySet<string>, columns: readonly string[]): string[] {
  const fromFields = new Set([...given].flatMap((field) => more[field] ?? [columnOf(field)]))
  return columns.filter((column) => fromFields.has(column))
}

/** Fields that become other columns than their name says. */
const more: Readonly<Record<string, readonly string[]>> = {
  email: ['email', 'email_canonical'],
  password: ['password_hash'],
  startsAt: ['starts_at', 'ends_at'],
  durationMinutes: ['ends_at'],
  publishedAt: ['published_at', 'delivered_at'],
}

interface Upsert {
  readonly table: string
  readonly key: readonly string[]
  readonly rows: readonly Row[]
  /** The columns that an existing row takes over. */
  readonly changed: readonly string[]
}

/** One statement. A row that has these values already is not written, and no trigger runs for it. */
async function upsert(
  trx: Transaction<Schema>,
  { table, key, rows, changed }: Upsert,
): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`)
  const taken = changed.filter((column) => !key.includes(column))
  await sql`insert into ${sql.table(table)} (${names(columns)}) values ${sql.join(values)}
    on conflict (${names(key)}) ${taken.length === 0 ? sql`do nothing` : takingOver(table, taken)}`.execute(
    trx,
  )
}

function takingOver(table: string, columns: readonly string[]): RawBuilder<unknown> {
  const news = columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
  const differs = columns.map(
    (column) =>
      sql`${sql.ref(`${table}.${column}`)} is distinct from ${sql.ref(`excluded.${column}`)}`,
  )
  return sql`do update set ${sql.join(news)} where ${sql.join(differs, sql` or `)}`
}

interface Replacement {
  readonly list: InnerList
  readonly parents: readonly string[]
  readonly rows: readonly Row[]
}

/** Entries that are not in the list any more go; the others are as it says. */
async function replaceInner(
  trx: Transaction<Schema>,
  { list, parents, rows }: Replacement,
): Promise<void> {
  const { table, parent, key, position } = list
  const whose = sql`where ${sql.ref(parent)} in (${sql.join(parents)})`
  const { rows: before } =
    await sql<Row>`select ${names(key)} from ${sql.table(table)} ${whose}`.execute(trx)
  const keyOf = (row: Row) => JSON.stringify(key.map((column) => row[column]))
  const wanted = new Set(rows.map(keyOf))
  for (const row of before.filter((one) => !wanted.has(keyOf(one)))) {
    const same = key.map((column) => sql`${sql.ref(column)} = ${row[column]}`)
    await sql`delete from ${sql.table(table)} where ${sql.join(same, sql` and `)}`.execute(trx)
  }
  const isUnique = position !== undefined && table !== 'oauth_application_redirect_uri'
  // On the way no two entries of one list may have the same number.
  if (isUnique) {
    await sql`update ${sql.table(table)} set position = -position ${whose} and position > 0`.execute(
      trx,
    )
  }
  await upsert(trx, { table, key, rows, changed: Object.keys(rows[0] ?? {}) })
}

async function removeRows(
  trx: Transaction<Schema>,
  type: KindName,
  records: readonly DataRecord[],
): Promise<void> {
  if (records.length === 0) return
  const ids = sql.join(records.map(({ id }) => id))
  await sql`delete from ${sql.table(kindOf(type).table)} where id in (${ids})`.execute(trx)
}

function names(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(column)))
}
