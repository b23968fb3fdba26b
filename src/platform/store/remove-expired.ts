import { sql } from 'kysely'
import pg from 'pg'

import type { Database } from './database.ts'
import type { Schema } from './schema.ts'
import { AnsweredTooLate } from './storage-timeout.ts'

/** The rows of a table that a time of their own ends. */
export type ExpiringRows = {
  [Table in keyof Schema]: {
    readonly table: Table
    /** The first column of an index, by which the rows are found. */
    readonly expiry: keyof Schema[Table] & string
    /** Only rows that have nothing in this column, when the index holds no others. */
    readonly unset?: keyof Schema[Table] & string
  }
}[keyof Schema]

export interface Removal {
  readonly from: number
  readonly until: number
  readonly rowsMax: number
}

/**
 * Removes in one statement the rows that expired first, at most `rowsMax` of those whose expiry is
 * within `from` and `until`, both included. Each row is found by where it lies, so that the table's
 * size is nothing to the statement. On PostgreSQL a row that another transaction holds is left for
 * the next time: two processes that remove at once share the work and never wait for each other.
 *
 * @returns the expiry of each row that was removed; nothing when the database cancelled the
 *   statement because it took too long
 */
export async function removeExpired(
  database: Database,
  { table, expiry, unset }: ExpiringRows,
  { from, until, rowsMax }: Removal,
): Promise<readonly number[] | undefined> {
  const column = sql.ref(expiry)
  const condition = unset === undefined ? sql`` : sql`and ${sql.ref(unset)} is null`
  const expired = sql`from ${sql.table(table)}
    where ${column} >= ${from} and ${column} <= ${until} ${condition}
    order by ${column} limit ${rowsMax}`
  const lies =
    database.engine === 'sqlite'
      ? sql`rowid in (select rowid ${expired})`
      : sql`ctid = any(array(select ctid ${expired} for update skip locked))`
  const query = sql<{ expiry: number }>`delete from ${sql.table(table)} where ${lies}
    returning ${column} as expiry`
  try {
    const { rows } = await query.execute(database.kysely)
    return rows.map((row) => row.expiry)
  } catch (error) {
    if (wasCancelled(error)) return undefined
    throw error
  }
}

const QUERY_CANCELED = '57014'

/** Whether the server gave the statement up, or this process did, which is a little later. */
function wasCancelled(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === QUERY_CANCELED
  return error instanceof AnsweredTooLate
}
