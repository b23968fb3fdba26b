import type { Selectable } from 'kysely'

import type { Schema } from '../store/schema.ts'

/** The version of the format; a field that is added is no new one. docs/audit-event.schema.json has it. */
const EVENT_VERSION = 1

/** An event as one line of JSON, without the line break: what is not known is left out. */
export function eventLine(row: Selectable<Schema['audit_event']>): string {
  return JSON.stringify({
    version: EVENT_VERSION,
    id: row.id,
    time: new Date(row.occurred_at).toISOString(),
    action: row.action,
    actor: row.actor_person_id ?? undefined,
    person: row.person_id ?? undefined,
    client: row.client_id ?? undefined,
    site: row.site_id ?? undefined,
    subject: { kind: row.subject_kind, id: row.subject_id },
    reason: row.reason ?? undefined,
    count: row.times ?? 1,
    address: row.address ?? undefined,
    request_id: row.request_id ?? undefined,
    before: row.before === null ? undefined : JSON.parse(row.before),
    after: row.after === null ? undefined : JSON.parse(row.after),
  })
}
