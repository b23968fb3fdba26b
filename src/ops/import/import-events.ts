/** Records audit events for imported records. Webhooks send the events. `sources` lists the kinds that have events. */

import { type RawBuilder, sql } from 'kysely'

import type { ChangeAction } from '../../platform/audit/audit-actions.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { KindName } from './record-kinds.ts'
import type { Writing } from './record-rows.ts'

/** The stored values of a record at one site. */
type Values = Readonly<Record<string, unknown>>

interface Source {
  readonly subject: string
  /** Selects `id`, `siteId`, `personId` (if any) and the values of the event. The caller appends the list of ids. */
  readonly select: RawBuilder<unknown>
  /** Returns the action to record, if any. `before` is undefined for a new record, `after` for a deleted one. */
  readonly actionOf: (
    before: Values | undefined,
    after: Values | undefined,
    nowMs: number,
  ) => ChangeAction | undefined
}

const purchase = (table: string, item: string, more = sql``) =>
  sql`select r.id, r.person_id as "personId", i.site_id as "siteId", i.id as "itemId" ${more}
    from ${sql.table(table)} r join ${sql.table(item)} i on i.id = r.${sql.ref(`${item}_id`)} where r.id`

const differs = (name: string, before?: Values, after?: Values) =>
  JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name])

/** Returns the change that puts an item into its current state. */
function changeTo(item?: Values) {
  if (item?.['archivedAt']) return 'archive'
  return item?.['publishedAt'] ? 'publish' : 'unpublish'
}

const released = (subject: 'course' | 'digital_product' | 'event'): Source => ({
  subject,
  select: sql`select r.id, r.site_id as "siteId", r.published_at as "publishedAt",
    r.archived_at as "archivedAt" from ${sql.table(subject)} r where r.id`,
  actionOf(before, after) {
    const was = changeTo(before)
    const is = changeTo(after)
    const isMoved = is === 'publish' && differs('publishedAt', before, after)
    return was !== is || isMoved ? `${subject}.${is}` : undefined
  },
})

const purchaseSource = (item: 'digital_product' | 'consulting_service'): Source => ({
  subject: `${item}_purchase`,
  select: purchase(`${item}_purchase`, item),
  actionOf: (before) => (before ? undefined : 'product.purchase'),
})

const sources: { readonly [Name in KindName]?: Source } = {
  person: {
    subject: 'person',
    select: sql`select r.person_id as id, r.person_id as "personId", r.site_id as "siteId", r.role as roles
      from site_role r where r.person_id`,
    actionOf(before, after) {
      if (!before) return 'member.join'
      if (!after) return 'member.remove'
      return differs('roles', before, after) ? 'member.roles' : undefined
    },
  },
  order: {
    subject: 'order',
    select: sql`select r.id, r.person_id as "personId", r.site_id as "siteId", r.currency,
      r.total_cents as "totalCents", r.refunded_at as "refundedAt" from customer_order r where r.id`,
    actionOf(before, after) {
      const action = before ? 'order.refund' : 'order.create'
      const isRefunded = before?.['refundedAt'] === null && after?.['refundedAt']
      return !before || isRefunded ? action : undefined
    },
  },
  coursePurchase: {
    subject: 'enrolment',
    select: purchase('course_purchase', 'course', sql`, r.expires_at as "expiresAt"`),
    actionOf(before, after, nowMs) {
      if (!before) return 'enrolment.create'
      if (!after) return 'enrolment.end'
      if (!differs('expiresAt', before, after)) return undefined
      const { expiresAt } = after
      return expiresAt !== null && Number(expiresAt) <= nowMs ? 'enrolment.end' : 'enrolment.update'
    },
  },
  digitalProductPurchase: purchaseSource('digital_product'),
  consultingServicePurchase: purchaseSource('consulting_service'),
  eventRegistration: {
    subject: 'event_registration',
    select: purchase('event_registration', 'event', sql`, r.cancelled_at as "cancelledAt"`),
    actionOf(before, after) {
      const [was, is] = [before, after].map((values) => values?.['cancelledAt'] === null)
      if (was === is) return undefined
      return is ? 'event.register' : 'event.cancel_registration'
    },
  },
  course: released('course'),
  digitalProduct: released('digital_product'),
  event: released('event'),
  post: {
    subject: 'post',
    select: sql`select r.id, r.site_id as "siteId", r.topic, r.title, r.published_at as "publishedAt"
      from post r where r.removed_at is null and r.id`,
    actionOf(before, after) {
      if (before && !after) return 'post.delete'
      return before?.['publishedAt'] == null && after?.['publishedAt'] ? 'post.publish' : undefined
    },
  },
  appearance: {
    subject: 'site',
    select: sql`select r.site_id as id, r.site_id as "siteId", r.updated_at as "updatedAt"
      from site_appearance r where r.site_id`,
    actionOf: (before, after) =>
      differs('updatedAt', before, after) ? 'appearance.update' : undefined,
  },
  application: {
    subject: 'application',
    select: sql`select r.client_id as id, r.site_id as "siteId", r.name
      from oauth_application r where r.kind = 'site' and r.client_id`,
    actionOf: (before) => (before ? undefined : 'application.create'),
  },
}

/** Calls `write` to write records of one kind. With `emitsEvents`, also records the events that the writes cause. */
export async function withEvents(
  { type, ids }: { readonly type: KindName; readonly ids: readonly string[] },
  { trx, nowMs: now, emitsEvents }: Writing,
  write: () => Promise<void>,
): Promise<void> {
  const source = ids.length > 0 && emitsEvents ? sources[type] : undefined
  if (!source) return await write()
  const read = async () => {
    const { rows } = await sql<Values>`${source.select} in (${sql.join(ids)})`.execute(trx)
    return bySite(rows)
  }
  const before = await read()
  await write()
  const after = await read()
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(key), after.get(key)]
    const action = source.actionOf(was, is, now)
    if (!action) continue
    const { id, siteId, personId } = Object(is ?? was)
    const about = { subject: { kind: source.subject, id }, siteId, personId }
    const change = { action, ...about, before: recordedValues(was), after: recordedValues(is) }
    await recordAuditEvent(trx, { now }, change)
  }
}

/** Groups rows by record and site. Collects the roles of a person at a site in one list. */
function bySite(rows: readonly Values[]): Map<string, Values> {
  const groups = Map.groupBy(rows, ({ id, siteId }) => `${id} ${siteId}`)
  return new Map(
    [...groups].map(([key, group]) => {
      const roles = group.flatMap((row) => row['roles'] ?? []).sort()
      return [key, { ...group[0], ...(roles.length > 0 && { roles }) }]
    }),
  )
}

/** Returns the values to record, without those that the audit event has in its own columns. */
function recordedValues(values?: Values) {
  const { id: _id, siteId: _site, personId: _person, ...rest } = values ?? {}
  return values && rest
}
