import { sql, type Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import type { DataRecord } from './read-records.ts'
import { type KindName, kindOf } from './record-kinds.ts'

/** What no constraint of the database says: rows that exist and do not belong together. */
interface Rule {
  readonly type: KindName
  readonly says: string
  /** The condition under which a row `r` of `table` contradicts another. */
  readonly from: string
  readonly where: string
  readonly by?: 'course_id'
}

const purchases = [
  'coursePurchase',
  'digitalProductPurchase',
  'consultingServicePurchase',
] as const satisfies KindName[]

// A purchase that named another person's order would show one member's record to the other.
const orderRule = (type: KindName, item: string): Rule => ({
  type,
  says: 'order: is another person’s, or of another site',
  from: `${kindOf(type).table} r join customer_order o on o.id = r.order_id join ${item} i on i.id = r.${item}_id`,
  where: 'o.person_id <> r.person_id or o.site_id <> i.site_id',
})

// An id says what it is of, wherever a client asks for it alone: `node(id:)` of the Member API.
const idRules = purchases.map((type): Rule => {
  const others = purchases.filter((other) => other !== type).map((other) => kindOf(other).table)
  return {
    type,
    says: 'id: a purchase of another kind has it',
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
    type: 'digitalProduct',
    says: 'file: is of another site',
    from: 'digital_product r join stored_file f on f.id = r.file_id',
    where: 'f.site_id <> r.site_id',
  },
  {
    type: 'course',
    says: 'lectures: name a section of another course',
    from: 'lecture r join section s on s.id = r.section_id',
    where: 's.course_id <> r.course_id',
    by: 'course_id',
  },
  {
    type: 'notification',
    says: 'post: is of another site',
    from: 'notification r join post p on p.id = r.post_id',
    where: 'p.site_id <> r.site_id',
  },
]

/** @returns what is wrong, or nothing. One short query for each rule that the batch may break. */
export async function findContradiction(
  trx: Transaction<Schema>,
  byKind: ReadonlyMap<KindName, readonly DataRecord[]>,
): Promise<string | undefined> {
  for (const { type, says, from, where, by = 'id' } of rules) {
    const ids = (byKind.get(type) ?? []).filter(({ deleted }) => !deleted).map(({ id }) => id)
    if (ids.length === 0) continue
    const { rows } = await sql`select 1 from ${sql.raw(from)}
      where ${sql.ref(`r.${by}`)} in (${sql.join(ids)}) and (${sql.raw(where)}) limit 1`.execute(
      trx,
    )
    if (rows.length > 0) return says
  }
  return await beyondTheEnd(trx, byKind.get('watchPosition') ?? [])
}

async function beyondTheEnd(
  trx: Transaction<Schema>,
  records: readonly DataRecord[],
): Promise<string | undefined> {
  if (records.length === 0) return undefined
  const pairs = records.map(({ values }) => sql`(${values['person']}, ${values['lecture']})`)
  // As pairs, so that each row is found by its key: a lecture alone may have been watched by everybody.
  const { rows } = await sql`with given (person_id, lecture_id) as (values ${sql.join(pairs)})
    select 1 from given join watch_position w
      on w.person_id = given.person_id and w.lecture_id = given.lecture_id
    join lecture l on l.id = w.lecture_id
    where w.position_seconds > l.duration_seconds limit 1`.execute(trx)
  return rows.length > 0 ? 'positionSeconds: is beyond the end of the lecture' : undefined
}
