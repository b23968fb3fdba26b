import type pg from 'pg'

/**
 * Stands in a database on PostgreSQL for as long as a backup is brought into it. A dump arrives with
 * everything that was revoked since alive in it, and a supervisor starts the service again whenever it
 * can: nobody uses such a database before what has to end in it has ended.
 */
export const UNFINISHED_RESTORE = 'restore_not_finished'

const DUPLICATE_TABLE = '42P07'

/** @throws in a sentence, when another restore began here */
export async function markUnfinished(client: pg.Client): Promise<void> {
  try {
    await client.query(`create table ${UNFINISHED_RESTORE} ()`)
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === DUPLICATE_TABLE
    throw isThere ? new Error(NOT_FINISHED, { cause: error }) : error
  }
}

export async function markFinished(client: pg.Client): Promise<void> {
  await client.query(`drop table ${UNFINISHED_RESTORE}`)
}

/** @throws in a sentence, when a restore into this database is under way, or was broken off */
export async function refuseUnfinished(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select 1 where to_regclass('${UNFINISHED_RESTORE}') is not null`,
  )
  if (rows.length > 0) throw new Error(NOT_FINISHED)
}

const NOT_FINISHED =
  'A restore into this database is under way, or was broken off: wait for its end, or drop the ' +
  'database and restore into a new one.'
