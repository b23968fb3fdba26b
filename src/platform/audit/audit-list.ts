import type { Kysely } from 'kysely'

import type { Database } from '../store/database.ts'
import { orderBy, type PageRequest, readPage } from '../store/keyset.ts'
import { canonicalEmail } from '../store/mail-address.ts'
import { findNames } from '../store/object-names.ts'
import type { Schema } from '../store/schema.ts'

/** Filters for the audit trail. An absent filter matches every event. */
export interface AuditFilter {
  /** Matches events of this site, and platform-wide reviews of metadata documents. */
  readonly siteId?: string | undefined
  readonly action?: string | undefined
  /** Matches actions by this client, and changes to it. */
  readonly clientId?: string | undefined
  /** Matches events with this person as the actor or as the affected person. */
  readonly personId?: string | undefined
  readonly fromMs?: number | undefined
  /** The end of the period, in epoch milliseconds; exclusive. */
  readonly untilMs?: number | undefined
}

/** Builds a query for matching events, with the current names of the actor and the affected person. */
export function findEvents({ kysely }: Pick<Database, 'kysely'>, filter: AuditFilter) {
  const { siteId, action, clientId, personId, fromMs, untilMs } = filter
  let found = kysely
    .selectFrom('audit_event as e')
    .leftJoin('person', 'person.id', 'e.actor_person_id')
    .leftJoin('person as about', 'about.id', 'e.person_id')
    .selectAll('e')
    .select(['person.name as actor_name', 'about.name as about_name'])
  if (siteId !== undefined) {
    // A platform-wide review concerns the operators of every site.
    const platformWide = { 'e.subject_kind': 'document_client', 'e.site_id': null } as const
    found = found.where((eb) => eb.or([eb('e.site_id', '=', siteId), eb.and(platformWide)]))
  }
  if (action !== undefined) found = found.where('e.action', '=', action)
  if (clientId !== undefined) {
    found = found.where((eb) =>
      eb.or([
        eb('e.client_id', '=', clientId),
        // Also match changes to the client itself.
        eb('e.subject_kind', 'in', clientKinds).and('e.subject_id', '=', clientId),
      ]),
    )
  }
  if (personId !== undefined) {
    found = found.where((eb) => eb.or({ 'e.actor_person_id': personId, 'e.person_id': personId }))
  }
  if (fromMs !== undefined) found = found.where('e.occurred_at', '>=', fromMs)
  if (untilMs !== undefined) found = found.where('e.occurred_at', '<', untilMs)
  return found
}

const clientKinds = ['application', 'resource_server', 'document_client']

export type FoundEvent = Awaited<ReturnType<ReturnType<typeof findEvents>['execute']>>[number]

/** Reads one page of matching events, newest first. */
export async function listEvents(database: Database, filter: AuditFilter, request: PageRequest) {
  const order = orderBy('occurred_at', 'desc', 'e.occurred_at', 'e.id')
  const page = await readPage(findEvents(database, filter), order, request)
  return { ...page, rows: await describeEvents(database.kysely, page.rows) }
}

/** Describes events for operators, with names instead of ids where known, and with the values that changed. */
async function describeEvents(kysely: Kysely<Schema>, rows: readonly FoundEvent[]) {
  const parsed = rows.map((row) => ({
    row,
    before: parseFacts(row.before),
    after: parseFacts(row.after),
  }))
  const ids = parsed.flatMap(({ row, before, after }) => [
    row.subject_id,
    ...[before, after].flatMap((facts) => idFields.map((field) => `${facts[field] ?? ''}`)),
  ])
  const names = await findNames(kysely, ids)
  return parsed.map(({ row, before, after }) => {
    const facts = { ...before, ...after }
    const own = facts['name'] ?? facts['title'] ?? facts['url']
    const textOf = (field: string, value: unknown) =>
      [value ?? []]
        .flat()
        .map((one) => names.get(String(one)) ?? formatFact(field, one))
        .join(', ')
    return {
      occurredAt: row.occurred_at,
      /** The actor's current name; undefined if no person acted, or the person's row is missing. */
      actorName: row.actor_name ?? undefined,
      hasActor: row.actor_person_id !== null,
      aboutName: row.about_name ?? row.person_id ?? undefined,
      action: row.action,
      /** The name of the changed object or, if unknown, its id. Empty if the id tells operators nothing. */
      subject:
        names.get(row.subject_id) ?? String(own ?? (idSaysNothing(row) ? '' : row.subject_id)),
      address: row.address ?? undefined,
      reason: row.reason ?? undefined,
      times: row.times ?? 1,
      requestId: row.request_id ?? undefined,
      differences: Object.keys(facts)
        .map((name) => ({
          name,
          before: textOf(name, before[name]),
          after: textOf(name, after[name]),
        }))
        .filter((each) => each.before !== each.after),
    }
  })
}

/** Whether the subject's id tells operators nothing, as is the case for the site itself and for invitations. */
function idSaysNothing({ subject_kind: kind }: FoundEvent): boolean {
  return kind === 'site' || kind === 'invitation'
}

function parseFacts(json: string | null): Record<string, unknown> {
  return json === null ? {} : JSON.parse(json)
}

/** Formats a value. A number in a field whose name ends in `At` is a time, in epoch milliseconds. */
function formatFact(field: string, value: unknown): string {
  const isTime = field.endsWith('At') && typeof value === 'number'
  return isTime ? new Date(value).toISOString() : String(value)
}

/** Fields of `before` and `after` that contain the id of an object. */
const idFields = ['personId', 'lecturer', 'course', 'eventId']

/** Returns the id of the person with this id or e-mail address. If there is none, returns the text as is. */
export async function findPersonId({ kysely }: Pick<Database, 'kysely'>, written: string) {
  const person = await kysely
    .selectFrom('person')
    .select('id')
    .where((eb) => eb.or({ id: written, email_canonical: canonicalEmail(written) }))
    .executeTakeFirst()
  return person?.id ?? written
}
