import { type RawBuilder, sql } from 'kysely'

import type { Database } from './database.ts'
import type { Schema } from './schema.ts'
import { StorageTimeoutError } from './storage-timeout.ts'

export type ExpiringRows = {
  [Table in keyof Schema]: {
    readonly table: Table
    /** The column with the expiry, which must be the first column of an index. */
    readonly expiry: keyof Schema[Table] & string
    /** A condition that the rows to delete must also meet. */
    readonly only?: RawBuilder<boolean>
  }
}[keyof Schema]

/**
 * Deletes the rows that expired first, with one statement. Deletes at most `rowsMax` rows, with an expiry between
 * `from` and `until` (inclusive). Deletes by physical position, so the size of the table does not matter. On
 * PostgreSQL, skips locked rows, so several processes share the work without waiting for each other.
 *
 * @returns the expiry of each deleted row; undefined if the statement was cancelled at the time limit
 */
export async function removeExpired(
  database: Database,
  { table, expiry, only }: ExpiringRows,
  { from, until, rowsMax }: Readonly<Record<'from' | 'until' | 'rowsMax', number>>,
): Promise<readonly number[] | undefined> {
  const column = sql.ref(expiry)
  const condition = only === undefined ? sql`` : sql`and ${only}`
  const expired = sql`from ${sql.table(table)}
    where ${column} >= ${from} and ${column} <= ${until} ${condition}
    order by ${column} limit ${rowsMax}`
  const isExpired =
    database.engine === 'sqlite'
      ? sql`rowid in (select rowid ${expired})`
      : sql`ctid = any(array(select ctid ${expired} for update skip locked))`
  const query = sql<{ expiry: number }>`delete from ${sql.table(table)} where ${isExpired}
    returning ${column} as expiry`
  try {
    const { rows } = await query.execute(database.kysely)
    return rows.map((row) => row.expiry)
  } catch (error) {
    if (wasCancelled(error)) return undefined
    throw error
  }
}

/** PostgreSQL's SQLSTATE for a cancelled statement. */
const QUERY_CANCELED = '57014'

function wasCancelled(error: unknown): boolean {
  return Object(error).code === QUERY_CANCELED || error instanceof StorageTimeoutError
}
