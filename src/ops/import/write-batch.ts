import { type RawBuilder, sql, type Transaction } from 'kysely'

import {
  endAllAccess,
  endSessions,
  findPeopleToSignOut,
} from '../../oauth/grants/end-access-after-password-change.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { resolveTime } from './campus-time.ts'
import { findContradiction } from './contradictions.ts'
import type { DataRecord } from './read-records.ts'
import type { InnerList, Writing } from './record-kind.ts'
import { type KindName, kindNames, kindOf } from './record-kinds.ts'
import { columnOf, columnsGiven, innerRows, type Row, recordRow } from './record-rows.ts'

const HASHES_AT_ONCE = 8

/** A record contradicts what is in the database, or another record of its batch. */
export class Contradiction extends Error {}

/** The hashes of the passwords of some records, by the ids of their people. */
export async function hashPasswords(
  records: readonly DataRecord[],
  hashPassword: (password: string) => Promise<string>,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>()
  const withPassword = records.filter(({ values }) => typeof values['password'] === 'string')
  for (let at = 0; at < withPassword.length; at += HASHES_AT_ONCE) {
    const some = withPassword.slice(at, at + HASHES_AT_ONCE)
    await Promise.all(
      some.map(async ({ id, values }) =>
        hashes.set(id, await hashPassword(String(values['password']))),
      ),
    )
  }
  return hashes
}

/**
 * Makes the rows of some records be as the records say: inserts new ones, updates others where a field
 * differs, and removes the entries of a list that it does not have any more. Fields that a line does not
 * have stay as they are.
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
    const deleted = ofKind.filter((record) => record.deleted).map(({ id }) => id)
    if (deleted.length > 0) {
      const { table } = kindOf(type)
      await sql`delete from ${sql.table(table)} where id in (${sql.join(deleted)})`.execute(trx)
    }
    const kept = ofKind.filter((record) => !record.deleted)
    // One statement writes rows with the same columns, and nearly always all lines of a file have them.
    const alike = Map.groupBy(kept, ({ given }) => [...given].sort().join())
    for (const some of alike.values()) await writeAlike(trx, type, some, writing)
  }
  const contradiction = await findContradiction(trx, byKind)
  if (contradiction !== undefined) throw new Contradiction(contradiction)
}

/** Ends the access of people whose line has `accessEndedAt`, at most until now. */
async function endNamedAccess(
  trx: Transaction<Schema>,
  people: readonly DataRecord[],
  nowMs: number,
): Promise<void> {
  for (const { id, values } of people) {
    const { accessEndedAt } = values
    if (typeof accessEndedAt !== 'string') continue
    const untilMs = Math.min(resolveTime(accessEndedAt, nowMs), nowMs)
    await endAllAccess(trx, id, { untilMs, nowMs })
  }
}

/** Writes records of one kind whose lines have the same fields. */
async function writeAlike(
  trx: Transaction<Schema>,
  type: KindName,
  records: readonly DataRecord[],
  writing: Writing,
): Promise<void> {
  const kind = kindOf(type)
  const given = records[0]?.given ?? new Set()
  const rows = records.map(({ values }) => recordRow(kind, values, writing))
  const changed = columnsGiven(kind, given, rows[0] ?? {})
  const signedOut = await findPeopleToSignOut(trx, type === 'person' ? rows : [], changed)
  const key = (kind.key ?? ['id']).map(columnOf)
  await upsert(trx, { table: kind.table, key }, rows, changed)
  await endSessions(trx, signedOut, writing.nowMs)
  if (type === 'person') await endNamedAccess(trx, records, writing.nowMs)
  const { parent = '', lists = [] } = kind.inner ?? {}
  for (const list of lists) {
    if (!given.has(list.field) && !given.has(list.also ?? '')) continue
    const entries = records.flatMap(({ values }) => innerRows(kind, list, values, writing))
    const whose = sql`where ${sql.ref(parent)} in (${sql.join(records.map(({ id }) => id))})`
    await replaceInner(trx, list, entries, whose)
  }
}

/**
 * Writes rows in one statement. A row that has these values already is not written, and no trigger runs for it.
 *
 * @param changed the columns that an existing row takes over
 */
async function upsert(
  trx: Transaction<Schema>,
  { table, key }: { readonly table: string; readonly key: readonly string[] },
  rows: readonly Row[],
  changed: readonly string[],
): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`)
  const taken = changed.filter((column) => !key.includes(column))
  await sql`insert into ${sql.table(table)} (${columnList(columns)}) values ${sql.join(values)}
    on conflict (${columnList(key)}) ${taken.length === 0 ? sql`do nothing` : takingOver(table, taken)}`.execute(
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

/** Removes entries that are not in the lists any more, and makes the others be as the lists say. */
async function replaceInner(
  trx: Transaction<Schema>,
  { table, key, position }: InnerList,
  rows: readonly Row[],
  whose: RawBuilder<unknown>,
): Promise<void> {
  const { rows: before } =
    await sql<Row>`select ${columnList(key)} from ${sql.table(table)} ${whose}`.execute(trx)
  const keyOf = (row: Row) => JSON.stringify(key.map((column) => row[column]))
  const wanted = new Set(rows.map(keyOf))
  for (const row of before.filter((one) => !wanted.has(keyOf(one)))) {
    const same = key.map((column) => sql`${sql.ref(column)} = ${row[column]}`)
    await sql`delete from ${sql.table(table)} where ${sql.join(same, sql` and `)}`.execute(trx)
  }
  // Meanwhile no two entries of one list may have the same number.
  if (position === 'unique') {
    await sql`update ${sql.table(table)} set position = -position ${whose} and position > 0`.execute(
      trx,
    )
  }
  await upsert(trx, { table, key }, rows, Object.keys(rows[0] ?? {}))
}

function columnList(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(column)))
}
