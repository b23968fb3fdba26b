import type { ExpressionBuilder } from 'kysely'

import type { Database } from '../store/database.ts'
import { orderBy, type PageRequest, readPage } from '../store/keyset.ts'
import type { Schema } from '../store/schema.ts'
import { describeAction } from './audit-actions.ts'

/** Filters of the audit trail. An absent filter matches every event. */
export interface AuditFilter {
  /** Matches events of this site, and reviews of metadata documents for all sites. */
  readonly siteId?: string | undefined
  readonly action?: string | undefined
  readonly clientId?: string | undefined
  /** Matches events with this person as the actor or as the affected person. */
  readonly personId?: string | undefined
  readonly fromMs?: number | undefined
  /** The end of the period, in epoch milliseconds; exclusive. */
  readonly untilMs?: number | undefined
}

type Tables = Schema & { readonly e: Schema['audit_event'] }

/** Returns the query for the events that match the filters, with the current names of the people involved. */
export function findEvents({ kysely }: Pick<Database, 'kysely'>, filter: AuditFilter) {
  const { siteId, action, clientId, personId, fromMs, untilMs } = filter
  let found = kysely
    .selectFrom('audit_event as e')
    .leftJoin('person', 'person.id', 'e.actor_person_id')
    .leftJoin('person as about', 'about.id', 'e.person_id')
    .selectAll('e')
    .select(['person.name as actor_name', 'about.name as about_name'])
  if (siteId !== undefined) found = found.where((eb) => ofSite(eb, siteId))
  if (action !== undefined) found = found.where('e.action', '=', action)
  if (clientId !== undefined) found = found.where((eb) => byClient(eb, clientId))
  if (personId !== undefined) {
    found = found.where((eb) => eb.or({ 'e.actor_person_id': personId, 'e.person_id': personId }))
  }
  if (fromMs !== undefined) found = found.where('e.occurred_at', '>=', fromMs)
  if (untilMs !== undefined) found = found.where('e.occurred_at', '<', untilMs)
  return found
}

function ofSite(eb: ExpressionBuilder<Tables, 'e'>, siteId: string) {
  return eb.or([
    eb('e.site_id', '=', siteId),
    // A platform-wide review concerns the operators of every site.
    eb.and({ 'e.subject_kind': 'document_client', 'e.site_id': null }),
  ])
}

/** Matches the actions of a client, and the changes whose subject is that client. */
function byClient(eb: ExpressionBuilder<Tables, 'e'>, clientId: string) {
  return eb.or([
    eb('e.client_id', '=', clientId),
    eb.and([eb('e.subject_kind', 'in', [...clientKinds]), eb('e.subject_id', '=', clientId)]),
  ])
}

const clientKinds = ['application', 'resource_server', 'document_client'] as const

export type FoundEvent = Awaited<ReturnType<ReturnType<typeof findEvents>['execute']>>[number]

/** Reads one page of matching events, newest first. */
export async function listEvents(database: Database, filter: AuditFilter, request: PageRequest) {
  const order = orderBy('occurred_at', 'desc', 'e.occurred_at', 'e.id')
  const page = await readPage(findEvents(database, filter), order, request)
  const rows = page.rows.map((row) => ({
    occurredAt: row.occurred_at,
    /** The actor's current name; undefined if the person was deleted, or no person acted. */
    actorName: row.actor_name ?? undefined,
    hasActor: row.actor_person_id !== null,
    aboutName: row.about_name ?? row.person_id ?? undefined,
    action: row.action,
    words: describeAction(row.action),
    subjectId: row.subject_id,
    address: row.address ?? undefined,
    reason: row.reason ?? undefined,
    times: row.times ?? 1,
    requestId: row.request_id ?? undefined,
    before: row.before ?? undefined,
    after: row.after ?? undefined,
  }))
  return { ...page, rows }
}

/** Returns the id of the person with this id or e-mail address; undefined if there is none. */
export async function findPersonId(
  { kysely }: Pick<Database, 'kysely'>,
  written: string,
): Promise<string | undefined> {
  const person = await kysely
    .selectFrom('person')
    .select('id')
    .where((eb) => eb.or({ id: written, email_canonical: written.toLowerCase() }))
    .executeTakeFirst()
  return person?.id
}
