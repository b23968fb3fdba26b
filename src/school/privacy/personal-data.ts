/** Lists the personal data in each table, and exports it. */

import { type RawBuilder, sql } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'

/** The rules for finding, exporting and deleting a person's rows in a table. */
interface PersonalRows {
  readonly table: keyof Schema
  /** The columns with the person's id (in JSON for `payload`), or with the id of the person's grant (`grant_id`). */
  readonly by: readonly string[]
  /** The columns in a download. The first column is the sort key. */
  readonly columns: readonly string[]
  /** Whether the rows are deleted with the account. Otherwise, they stay and refer to a person without a name. */
  readonly isDeleted: boolean
}

type Tables = { readonly [Table in keyof Schema]?: string }

const deleted: Tables = {
  site_role: 'granted_at site_id role',
  course_lecturer: 'course_id',
  platform_reviewer: 'granted_at',
  watch_position: 'watched_at lecture_id position_seconds',
  notification: 'created_at site_id topic title body link read_at',
  notification_subscription: 'id site_id topic channel enabled_at',
  browser_session:
    'started_at device network authenticated_at acr provider_id site_id seen_at expires_at',
  passkey: 'created_at id name last_used_at backed_up_at cloned_at',
  totp: 'confirmed_at',
  recovery_code: 'created_at',
  linked_identity: 'linked_at provider_id issuer subject last_used_at',
  one_time_link: 'created_at kind email site_id expires_at',
  person_word: 'word',
  pending_change: 'expires_at id site_id client_id operation arguments approved_at',
}
const kept: Tables = {
  customer_order:
    'placed_at id site_id number coupon_code invoice_number refunded_at total_cents currency',
  course_purchase: 'purchased_at course_id order_id expires_at',
  digital_product_purchase: 'purchased_at digital_product_id order_id',
  consulting_service_purchase: 'purchased_at consulting_service_id order_id scheduled_at',
  event_registration: 'registered_at event_id order_id cancelled_at',
  oauth_grant:
    'granted_at id client_id client_name site_id expires_at ended_at end_reason last_used_at',
}

/** The kinds of rows that a download contains. docs/reference/retention.md explains why other rows are omitted. */
export const personalRows: readonly PersonalRows[] = [
  rowsOf(['id'], {
    person:
      'id email email_verified_at name preferred_username picture locale time_zone created_at updated_at imported_at disabled_at signed_out_at deletion_due_at',
  }),
  rowsOf(['person_id'], deleted, true),
  rowsOf(['payload'], { outbox: 'created_at kind' }, true),
  rowsOf(['person_id'], kept),
  rowsOf(['grant_id'], {
    oauth_grant_scope: 'grant_id scope',
    oauth_grant_day: 'day grant_id calls',
  }),
  rowsOf(['created_by'], {
    stored_file: 'created_at site_id name media_type size_bytes',
    post: 'created_at site_id topic title body link published_at',
    oauth_application: 'created_at client_id name site_id',
  }),
  rowsOf(['reviewed_by'], {
    document_client: 'reviewed_at client_id review',
    document_site_review: 'reviewed_at client_id site_id review',
  }),
  rowsOf(['used_by'], { platform_callback: 'used_at client_id uri' }),
  rowsOf(['actor_person_id', 'person_id'], {
    audit_event: 'occurred_at actor_person_id action client_id site_id reason times address',
  }),
].flat()

function rowsOf(by: readonly string[], tables: Tables, isDeleted = false): PersonalRows[] {
  return Object.entries(tables).map(([table, columns]) => ({
    ...{ table: table as keyof Schema, by, columns: columns.split(' '), isDeleted },
  }))
}

/** Returns the condition that selects the rows of a person. */
export function areOf({ by }: PersonalRows, personId: string): RawBuilder<boolean> {
  const special: Readonly<Record<string, RawBuilder<unknown>>> = {
    grant_id: sql`grant_id in (select id from oauth_grant where person_id = ${personId})`,
    payload: sql`replace(payload, ${`"personId":${JSON.stringify(personId)}`}, '') <> payload`,
  }
  const conditions = by.map((column) => special[column] ?? sql`${sql.ref(column)} = ${personId}`)
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`
}

type Row = Record<string, unknown>

/** The maximum number of rows per table. A download contains those with the highest sort keys, mostly the latest. */
const ROWS_MAX = 10_000

/**
 * Returns the data of a person as JSON, by table (`personalRows`). Records an audit event. `incomplete` lists the
 * tables that may have more rows. @throws if no person has this id
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

/** Returns a row for the download, with times as text. Omits the actor's id, and the IP addresses of other actors. */
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
