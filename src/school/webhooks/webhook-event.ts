/** Creates the payloads of webhooks. */

import type { Kysely, Selectable } from 'kysely'

import { eventTypes } from '../../platform/audit/event-types.ts'
import type { Schema } from '../../platform/store/schema.ts'

type AuditEvent = Selectable<Schema['audit_event']>

/** The body of a webhook. */
export interface WebhookEvent {
  readonly id: string
  readonly type: string
  readonly version: number
  /** When the change was made, in ISO 8601. */
  readonly timestamp: string
  /** The id of the site, like `org_id` in tokens. */
  readonly site: string
  readonly data: {
    readonly id: string
    readonly kind: string
    /** The affected person, unless that is the actor. */
    readonly personId?: string
    readonly actorId?: string
    /** The application that made the change. It can use this id to ignore its own changes. */
    readonly clientId?: string
    /** The changed values. A thin payload omits `before` and `after`. */
    readonly before?: unknown
    readonly after?: unknown
  }
}

/** Reads audit events by id. The data of deleted people has been removed from them. */
export async function findAuditEvents(kysely: Kysely<Schema>, ids: readonly string[]) {
  const rows = await kysely
    .selectFrom('audit_event')
    .selectAll()
    .where('id', 'in', ['', ...ids])
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Converts an audit event to the webhook event that its action causes or, for `webhook.test`, to an example. */
export function webhookEventOf(
  row: AuditEvent,
  payload: 'full' | 'thin',
): WebhookEvent | undefined {
  const { site_id: site, occurred_at: nowMs } = row
  if (row.action === 'webhook.test' && site !== null)
    return exampleEvent(JSON.parse(row.after ?? '{}').type, { id: row.id, site, nowMs })
  const { id, event_type: type, person_id, actor_person_id, client_id, before, after } = row
  const known = eventTypes.get(type ?? '')
  if (!known || type === null || site === null) return undefined
  return {
    ...{ id, type, version: known.version, timestamp: new Date(nowMs).toISOString(), site },
    data: {
      id: row.subject_id,
      kind: row.subject_kind,
      ...(person_id !== null && { personId: person_id }),
      ...(actor_person_id !== null && { actorId: actor_person_id }),
      ...(client_id !== null && { clientId: client_id }),
      ...(payload === 'full' && before !== null && { before: JSON.parse(before) }),
      ...(payload === 'full' && after !== null && { after: JSON.parse(after) }),
    },
  }
}

/** Returns an example event of the given type, for test messages and the reference. */
export function exampleEvent(name: string, about = { id: EXAMPLE_ID, site: 'site_oak', nowMs: 0 }) {
  const { version, kinds } = eventTypes.get(name) ?? { version: 1, kinds: [] }
  const [kind = ''] = kinds
  const timestamp = new Date(about.nowMs).toISOString()
  const data = { id: `${kind}_example`, kind, actorId: 'person_example' }
  return { id: about.id, type: name, version, timestamp, site: about.site, data }
}

const EXAMPLE_ID = '00000000-0000-4000-8000-000000000000'
