import { sql } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { areOf, personalRows } from './personal-data.ts'

type Row = Record<string, unknown>

/** The maximum number of rows of a table in a download. Keeps those with the highest first column, usually the latest. */
const ROWS_MAX = 10_000

/**
 * Returns the data of a person as JSON, by table (`personalRows`). Records an audit event. `incomplete` lists the
 * tables that may have more rows. @throws if there is no person with the id
 */
export async function exportPerson(
  { kysely }: Database,
  personId: string,
  actor: Partial<Actor> & Pick<Actor, 'now'>,
): Promise<string> {
  const tables: Record<string, Row[]> = {}
  for (const rows of personalRows) {
    const columns = rows.columns.map((column) => sql.ref(column))
    const found = await sql<Row>`select ${sql.join(columns)} from ${sql.table(rows.table)}
      where ${areOf(rows, personId)} order by ${columns[0]} desc limit ${ROWS_MAX}`.execute(kysely)
    tables[rows.table] = found.rows.map((row) => shownTo(personId, row))
  }
  if (tables['person']?.length === 0) throw new Error(`There is no person with the id ${personId}.`)
  const subject = { kind: 'person', id: personId }
  const event = { action: 'account.exported', subject, siteId: undefined, personId } as const
  await recordAuditEvent(kysely, actor, event)
  const incomplete = Object.keys(tables).filter((table) => tables[table]?.length === ROWS_MAX)
  const exported_at = new Date(actor.now).toISOString()
  return JSON.stringify({ exported_at, ...tables, incomplete }, undefined, 1)
}

/** Returns a row for the download, with times as text. Omits the actor, and the IP address of another actor. */
function shownTo(personId: string, { actor_person_id: actor, address, ...others }: Row): Row {
  const isOwn = (actor ?? personId) === personId
  const row = isOwn && address !== undefined ? { ...others, address } : others
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const isTime = column.endsWith('_at') && value !== null
      return [column, isTime ? new Date(Number(value)).toISOString() : value]
    }),
  )
}
