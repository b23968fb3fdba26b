import type { InsertObject, Kysely } from 'kysely'

import type { Schema } from './schema.ts'

/** Inserts rows, except those that conflict with a stored row. @returns whether it inserted a row */
export async function insertNew<Table extends keyof Schema>(
  kysely: Kysely<Schema>,
  table: Table,
  ...rows: InsertObject<Schema, Table>[]
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await kysely
    .insertInto(table)
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows > 0n
}
