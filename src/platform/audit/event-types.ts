/** The table of event types that webhooks deliver. An event is an audit event whose action is listed here. */

import { type RawBuilder, sql } from 'kysely'

import type { AuditAction } from './audit-actions.ts'

export interface EventType {
  /** The version of the payload. Each incompatible change increases the version. */
  readonly version: number
  /** The actions that cause the event. An action causes at most one type of event. */
  readonly from: readonly AuditAction[]
  /** The area of the operator scope (`<area>:read`) that an application needs to receive the event. */
  readonly area: string
  /** The possible values of `data.kind`. Events with the same kind and id are delivered in order. */
  readonly kinds: readonly string[]
}

/** All event types. The message `event.<name>` says when each event occurs. Source of docs/reference/events.md. */
export const eventTypes: ReadonlyMap<string, EventType> = new Map([
  ...eventRows('courses', ['course'], {
    'course.published': ['course.publish'],
    'course.unpublished': ['course.unpublish'],
    'course.archived': ['course.archive'],
    'course.deleted': ['course.delete'],
  }),
  ...eventRows('curriculum', ['section', 'lecture'], {
    'curriculum.changed': [
      ...(['section.create', 'section.update', 'section.delete'] as const),
      ...(['lecture.create', 'lecture.update', 'lecture.move', 'lecture.delete'] as const),
    ],
  }),
  ...eventRows('students', ['enrolment'], {
    'enrolment.created': ['enrolment.create'],
    'enrolment.changed': ['enrolment.update'],
    'enrolment.ended': ['enrolment.end'],
  }),
  ...eventRows('members', ['person'], {
    'member.added': ['member.join'],
    'member.role_changed': ['member.roles'],
    'member.removed': ['member.remove'],
    'sign_in.failed_repeatedly': ['sign_in.failed_repeatedly'],
  }),
  ...eventRows('orders', ['order'], {
    'order.created': ['order.create'],
    'order.refunded': ['order.refund'],
  }),
  ...eventRows('orders', ['digital_product_purchase', 'consulting_service_purchase'], {
    'product.purchased': ['product.purchase'],
  }),
  ...eventRows('digital_products', ['digital_product'], {
    'product.published': ['digital_product.publish'],
    'product.unpublished': ['digital_product.unpublish'],
    'product.archived': ['digital_product.archive'],
  }),
  ...eventRows('events', ['event'], {
    'event.published': ['event.publish'],
    'event.cancelled': ['event.unpublish', 'event.archive', 'event.delete'],
  }),
  ...eventRows('events', ['event_registration'], {
    'registration.created': ['event.register'],
    'registration.cancelled': ['event.cancel_registration'],
  }),
  ...eventRows('posts', ['post'], {
    'post.published': ['post.publish'],
    'post.withdrawn': ['post.delete'],
  }),
  ...eventRows('school', ['application'], {
    'application.created': ['application.create'],
    'application.disabled': ['application.disable'],
    'application.deleted': ['application.delete'],
    'application.connected': ['consent.given'],
    'application.disconnected': [
      ...(['grant.revoked', 'grant.remove', 'grant.end', 'grants.end_all'] as const),
      ...(['code.reused', 'refresh_token.reused'] as const),
    ],
  }),
  ...eventRows('appearance', ['site'], {
    'appearance.changed': ['appearance.update'],
  }),
  ...eventRows('school', ['webhook_endpoint'], {
    'webhook.disabled': ['webhook.disable'],
  }),
])

function eventRows(
  area: string,
  kinds: EventType['kinds'],
  table: Readonly<Record<string, EventType['from']>>,
): [string, EventType][] {
  return Object.entries(table).map(([name, from]) => [name, { version: 1, from, area, kinds }])
}

/** Maps each action that causes an event to the type of the event. */
export const typeOfAction: ReadonlyMap<string, string> = new Map(
  [...eventTypes].flatMap(([type, { from }]) => from.map((action) => [action, type] as const)),
)

/**
 * Builds a statement that queues stored events for the enabled endpoints that select their types. Skips events that are
 * already in the queue.
 *
 * @param which a condition for rows of `audit_event a` and `webhook_endpoint e`
 * @param rowsMax the maximum number of messages to queue, oldest events first; no maximum by default
 */
export function eventQueueing(
  which: RawBuilder<unknown>,
  nowMs: number,
  rowsMax?: number,
): RawBuilder<unknown> {
  const limit = rowsMax === undefined ? sql`` : sql`limit ${rowsMax}`
  return sql`
    insert into outbox (id, kind, queue, subject, payload, created_at, due_at, attempts)
    select a.id || '.' || e.id, 'webhook', e.id, a.subject_kind || ' ' || a.subject_id,
      '{"eventId":"' || a.id || '"}', cast(${nowMs} as bigint), cast(${nowMs} as bigint), 0
    from audit_event a
    join webhook_endpoint e on e.site_id = a.site_id and e.disabled_at is null
    join webhook_endpoint_type t on t.endpoint_id = e.id and t.type = a.event_type
    where a.event_type is not null and ${which}
    order by a.occurred_at, a.id ${limit}
    on conflict (id) do nothing`
}
