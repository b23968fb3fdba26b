import { sql, type Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/** A row that has a number among others, from 1. */
export interface Place {
  readonly id: string
  readonly position: number
}

/** Puts a row among others at a number, or at their end. */
export function placeAmong<Row extends Place>(
  others: readonly Row[],
  row: Row,
  position: number | undefined,
): Row[] {
  const at = position === undefined ? others.length : Math.min(position - 1, others.length)
  return [...others.slice(0, at), row, ...others.slice(at)]
}

/**
 * Numbers the rows in the order given. Only what changes is written: first as negative numbers,
 * because on the way no two rows of a course may have the same one.
 */
export async function arrange(
  trx: Transaction<Schema>,
  table: 'section' | 'lecture',
  ordered: readonly Place[],
): Promise<void> {
  const moved = ordered
    .map(({ id, position }, index) => ({ id, from: position, to: index + 1 }))
    .filter(({ from, to }) => from !== to)
  if (moved.length === 0) return
  const cases = moved.map(({ id, to }) => sql`when ${id} then ${sql.lit(-to)}`)
  const ids = moved.map(({ id }) => sql`${id}`)
  const whose = sql`where id in (${sql.join(ids)})`
  await sql`update ${sql.table(table)}
    set position = case id ${sql.join(cases, sql` `)} end ${whose}`.execute(trx)
  await sql`update ${sql.table(table)} set position = -position ${whose}`.execute(trx)
}
