import { type RawBuilder, sql } from 'kysely'

import { endAllAccess, endSessions, findPeopleToSignOut } from '../../oauth/grants/end-access.ts'
import { endGrantsWithEvents } from '../../oauth/grants/end-grants.ts'
import { resolveTime } from './campus-time.ts'
import { withEvents } from './import-events.ts'
import type { DataRecord } from './read-records.ts'
import { type KindName, kindNames, kindOf } from './record-kinds.ts'
import {
  columnName,
  columnsGiven,
  type InnerList,
  innerRows,
  type Row,
  recordRow,
  type Writing,
} from './record-rows.ts'

const HASHES_AT_ONCE = 8

/** Thrown if a record contradicts the database or another record of its batch. */
export class Contradiction extends Error {}

/** Returns the hashes of the passwords in the records, by person id. `findStored` may return a stored hash to keep. */
export async function hashPasswords(
  records: readonly DataRecord[],
  hashPassword: (password: string) => Promise<string>,
  findStored?: (id: string, password: string) => Promise<string | undefined>,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>()
  const withPassword = records.filter(({ values }) => typeof values['password'] === 'string')
  for (let at = 0; at < withPassword.length; at += HASHES_AT_ONCE) {
    const some = withPassword.slice(at, at + HASHES_AT_ONCE)
    await Promise.all(
      some.map(async ({ id, values }) => {
        const password = String(values['password'])
        hashes.set(id, (await findStored?.(id, password)) ?? (await hashPassword(password)))
      }),
    )
  }
  return hashes
}

/**
 * Writes records: inserts, updates and deletes rows. Deletes records marked as deleted, and entries that are no longer
 * in a list. Fields that a line does not contain remain unchanged. Adds the changed records to `changed`.
 *
 * @throws Contradiction, or the database's error, for example for an unknown reference or a duplicate
 */
export async function writeBatch(records: readonly DataRecord[], writing: Writing): Promise<void> {
  const { trx } = writing
  const byKind = Map.groupBy(records, ({ type }) => type)
  for (const type of kindNames) {
    const ofKind = byKind.get(type) ?? []
    const ids = ofKind.map(({ id }) => id)
    await withEvents({ type, ids }, writing, async () => {
      const deleted = ofKind.filter((record) => record.deleted).map(({ id }) => id)
      if (deleted.length > 0) {
        const table = sql.table(kindOf(type).table)
        const deletion = sql<Row>`delete from ${table} where id in (${sql.join(deleted)}) returning id`
        noteChanged(type, (await deletion.execute(trx)).rows, writing)
      }
      const kept = ofKind.filter((record) => !record.deleted)
      // Group lines by their fields, because one statement writes the same columns in all rows.
      const alike = Map.groupBy(kept, ({ given }) => [...given].sort().join())
      for (const some of alike.values()) await writeAlike(type, some, writing)
    })
  }
  const contradiction = await findContradiction(byKind, writing)
  if (contradiction !== undefined) throw new Contradiction(contradiction)
}

/** Writes records of one kind from lines with the same fields. */
async function writeAlike(type: KindName, records: readonly DataRecord[], writing: Writing) {
  const kind = kindOf(type)
  const given = records[0]?.given ?? new Set()
  const rows = records.map(({ values }) => recordRow(kind, values, writing))
  const changed = columnsGiven(kind, given, rows[0] ?? {})
  const key = (kind.key ?? ['id']).map(columnName)
  const note = (written: readonly Row[]) => noteChanged(type, written, writing)
  const write = async () =>
    note(await upsert({ table: kind.table, key, by: key }, rows, changed, writing))
  if (type === 'person') await changePeople({ records, rows, changed }, writing, write)
  else await write()
  const { parent = '', lists = [] } = kind.inner ?? {}
  for (const list of lists) {
    if (!given.has(list.field) && !given.has(list.also ?? '')) continue
    const entries = records.flatMap(({ values }) => innerRows(kind, list, values, writing))
    const whose = sql`where ${sql.ref(parent)} in (${sql.join(records.map(({ id }) => id))})`
    note(await replaceInner(list, entries, { parent, whose }, writing))
  }
  if (type === 'person' && given.has('roles')) {
    const formerOwners = records.map(({ id }) => id)
    const reason = 'the person is no longer an owner of the site'
    await endGrantsWithEvents(writing.trx, { formerOwners }, reason, { now: writing.nowMs })
  }
}

/** Adds the records of changed rows to `changed`. Each row has only the columns that identify the record. */
function noteChanged(type: KindName, rows: readonly Row[], { changed }: Writing): void {
  for (const row of rows) changed.add(`${type} ${Object.values(row).join(' ')}`)
}

interface People {
  readonly records: readonly DataRecord[]
  readonly rows: Row[]
  readonly changed: readonly string[]
}

/** Writes people, marks them as imported, and ends sessions and grants as the new data requires. */
async function changePeople(
  { records, rows, changed }: People,
  { trx, nowMs }: Writing,
  write: () => Promise<void>,
): Promise<void> {
  const ids = records.map(({ id }) => id)
  await keepNewerHashes(trx, rows)
  const signedOut = await findPeopleToSignOut(trx, rows, changed)
  if (!changed.includes('email_verified_at')) await forgetVerification(trx, rows)
  await write()
  await endSessions(trx, signedOut, nowMs)
  // People who signed up at this service have no `imported_at` yet.
  const people = trx.updateTable('person').where('id', 'in', ids)
  await people.set({ imported_at: nowMs }).where('imported_at', 'is', null).execute()
  for (const { id, values } of records) {
    // End access that began at or before `accessEndedAt`. Treat a time in the future as the current time.
    if (typeof values['accessEndedAt'] !== 'string') continue
    const untilMs = Math.min(resolveTime(values['accessEndedAt'], nowMs), nowMs)
    await endAllAccess(trx, id, { reason: 'the platform ended it', untilMs }, { now: nowMs })
  }
}

/**
 * Keeps a person's stored hash if the imported hash has not changed since the last import. The person may have set a
 * new password, or a sign-in may have replaced the hash with an Argon2id hash.
 */
async function keepNewerHashes(trx: Writing['trx'], rows: Row[]): Promise<void> {
  const digests = rows.flatMap((row) => row['imported_hash_digest'] ?? [])
  if (digests.length === 0) return
  const ids = rows.map(({ id }) => String(id))
  const kept = await trx
    .selectFrom('person')
    .select(['id', 'password_hash', 'imported_hash_digest'])
    .where('id', 'in', ids)
    .where('imported_hash_digest', 'in', digests.map(String))
    .execute()
  const byId = new Map(kept.map((person) => [person.id, person]))
  for (const [index, row] of rows.entries()) {
    const { imported_hash_digest, password_hash } = byId.get(String(row['id'])) ?? {}
    if (imported_hash_digest === row['imported_hash_digest'])
      rows[index] = { ...row, password_hash }
  }
}

/** Marks e-mail addresses as unverified if this import changes them. */
async function forgetVerification(trx: Writing['trx'], rows: readonly Row[]): Promise<void> {
  const pairs = rows.map((row) => sql`(${row['id']}, ${row['email_canonical']})`)
  const ids = rows.map(({ id }) => id)
  const changed = sql`id in (${sql.join(ids)})
    and (id, email_canonical) not in (values ${sql.join(pairs)})`
  await sql`update person set email_verified_at = null
    where email_verified_at is not null and ${changed}`.execute(trx)
}

interface Target extends Pick<InnerList, 'table' | 'key'> {
  /** The columns that identify the record of a row. */
  readonly by: readonly string[]
}

/**
 * Inserts rows, or updates their `changed` columns, in one statement. Skips unchanged rows, so no trigger runs.
 *
 * @returns the columns `by` of the rows that were written
 */
async function upsert(
  { table, key, by }: Target,
  rows: readonly Row[],
  changed: readonly string[],
  { trx }: Writing,
): Promise<Row[]> {
  const [first] = rows
  if (!first) return []
  const columns = Object.keys(first)
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`)
  const updated = changed.filter((column) => !key.includes(column))
  const action = updated.length === 0 ? sql`do nothing` : doUpdate(table, updated)
  const written = sql<Row>`insert into ${sql.table(table)} (${columnList(columns)})
    values ${sql.join(values)} on conflict (${columnList(key)}) ${action} returning ${columnList(by)}`
  return (await written.execute(trx)).rows
}

function doUpdate(table: string, columns: readonly string[]): RawBuilder<unknown> {
  const assignments = columns.map(
    (column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`,
  )
  const differs = columns.map(
    (column) =>
      sql`${sql.ref(`${table}.${column}`)} is distinct from ${sql.ref(`excluded.${column}`)}`,
  )
  // An account may have been deleted since the batch was read.
  const exists = table === 'person' ? sql`person.deleted_at is null` : sql`1 = 1`
  return sql`do update set ${sql.join(assignments)} where ${exists} and (${sql.join(differs, sql` or `)})`
}

/** Deletes entries that are no longer listed, and writes all other entries. @returns the parents of changed rows */
async function replaceInner(
  { table, key, position }: InnerList,
  rows: readonly Row[],
  { parent, whose }: { readonly parent: string; readonly whose: RawBuilder<unknown> },
  writing: Writing,
): Promise<Row[]> {
  const { trx } = writing
  const name = sql.table(table)
  const keys = rows.map((row) => sql`(${sql.join(key.map((column) => row[column]))})`)
  const isGone =
    keys.length === 0 ? sql`` : sql`and (${columnList(key)}) not in (values ${sql.join(keys)})`
  const by = sql.ref(parent)
  const deletion = sql<Row>`delete from ${name} ${whose} ${isGone} returning ${by}`
  const { rows: changed } = await deletion.execute(trx)
  // First, negate the stored positions that change, so no new position equals a stored position.
  if (position && rows.length > 0) {
    const places = rows.map(
      (row) => sql`(${row[parent]}, ${row['id']}, ${String(row['position'])})`,
    )
    await sql`update ${name} set position = -position ${whose} and position > 0
      and (${by}, id, cast(position as text)) not in (values ${sql.join(places)})`.execute(trx)
  }
  const target = { table, key, by: [parent] }
  return changed.concat(await upsert(target, rows, Object.keys(rows[0] ?? {}), writing))
}

function columnList(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(column)))
}

/** A consistency rule that no database constraint enforces. */
interface Rule {
  readonly type: KindName
  readonly says: string
  /** The SQL that selects the rows `r` to check. */
  readonly from: string
  readonly where: string
  /** The columns of `r` that contain the record's key; by default, the columns of the key fields. */
  readonly by?: readonly string[]
}

const purchases = [
  'coursePurchase',
  'digitalProductPurchase',
  'consultingServicePurchase',
] as const satisfies KindName[]

// Without this rule, a purchase could show one member's order to another member.
const orderRule = (type: KindName, item: string): Rule => ({
  type,
  says: 'order: this order belongs to another person or site',
  from: `${kindOf(type).table} r join customer_order o on o.id = r.order_id join ${item} i on i.id = r.${item}_id`,
  where: 'o.person_id <> r.person_id or o.site_id <> i.site_id',
})

// `node(id:)` of the Member API finds a purchase by its id alone, so ids must differ between kinds.
const idRules = purchases.map((type): Rule => {
  const others = purchases.filter((other) => other !== type).map((other) => kindOf(other).table)
  return {
    type,
    says: 'id: a purchase of another kind has this id',
    from: `${kindOf(type).table} r`,
    where: others.map((other) => `r.id in (select id from ${other} where id = r.id)`).join(' or '),
  }
})

const rules: readonly Rule[] = [
  ...idRules,
  orderRule('coursePurchase', 'course'),
  orderRule('digitalProductPurchase', 'digital_product'),
  orderRule('consultingServicePurchase', 'consulting_service'),
  orderRule('eventRegistration', 'event'),
  {
    // Existing grants were issued for the stored kind of application.
    type: 'application',
    says: 'operatorAt: an application that people have connected cannot change its kind; use another clientId',
    from: 'oauth_application r join oauth_grant g on g.client_id = r.client_id',
    where: "g.ended_at is null and (r.operator_at is not null) <> (g.client_origin = 'operator')",
  },
  {
    // A line without `operatorAt` keeps the stored value, but was validated as a line for a member application.
    type: 'application',
    says: 'operatorAt: is required because the stored application acts for an owner; add it to the line',
    from: 'oauth_application r',
    where: `r.operator_at is not null and (r.kind <> 'site' or r.scopes like '%"account:%')`,
  },
  {
    type: 'digitalProduct',
    says: 'file: this file belongs to another site',
    from: 'digital_product r join stored_file f on f.id = r.file_id',
    where: 'f.site_id <> r.site_id',
  },
  {
    type: 'event',
    says: 'endsAt: must be after startsAt',
    from: 'event r',
    where: 'r.ends_at <= r.starts_at',
  },
  {
    type: 'course',
    says: 'lectures: a lecture refers to a section of another course',
    from: 'lecture r join section s on s.id = r.section_id',
    where: 's.course_id <> r.course_id',
    by: ['course_id'],
  },
  {
    type: 'notification',
    says: 'post: this post belongs to another site',
    from: 'notification r join post p on p.id = r.post_id',
    where: 'p.site_id <> r.site_id',
  },
  {
    type: 'watchPosition',
    says: 'positionSeconds: must not be beyond the end of the lecture',
    from: 'watch_position r join lecture l on l.id = r.lecture_id',
    where: 'r.position_seconds > l.duration_seconds',
  },
]

/** Returns the description of the first violated rule, if any. Runs one query per rule until a rule is violated. */
async function findContradiction(
  byKind: ReadonlyMap<KindName, readonly DataRecord[]>,
  { trx }: Writing,
): Promise<string | undefined> {
  for (const { type, says, from, where, by } of rules) {
    const { key = ['id'] } = kindOf(type)
    const written = (byKind.get(type) ?? []).filter(({ deleted }) => !deleted)
    if (written.length === 0) continue
    const columns = (by ?? key.map(columnName)).map((column) => sql.ref(`r.${column}`))
    const keys = written.map(({ values }) => sql`(${sql.join(key.map((field) => values[field]))})`)
    // Match complete keys, so the query uses the index. A lecture alone may match many watch positions.
    const isWritten = sql`(${sql.join(columns)}) in (values ${sql.join(keys)})`
    const { rows } = await sql`select 1 from ${sql.raw(from)}
      where ${isWritten} and (${sql.raw(where)}) limit 1`.execute(trx)
    if (rows.length > 0) return says
  }
  return undefined
}
