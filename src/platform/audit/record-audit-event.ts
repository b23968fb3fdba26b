/** The audit trail: changes, sign-ins and refusals. Callers check whether the actor may make the change. */

import { randomUUID } from 'node:crypto'

import { type CompiledQuery, type Kysely, sql } from 'kysely'

import { compiledOnce, sendTogether, type Valued } from '../store/compiled-queries.ts'
import type { Schema } from '../store/schema.ts'
import {
  type AuditAction,
  type ChangeAction,
  type EventAction,
  memberEvents,
} from './audit-actions.ts'
import { eventQueueing, typeOfAction } from './event-types.ts'

/** The person or client that makes a change, and the request. */
export interface Actor {
  readonly personId: string
  readonly requestId: string
  readonly now: number
  /** The client IP address, shortened as configured. */
  readonly address?: string | undefined
  /** The client that acted, for the person or on its own behalf. */
  readonly clientId?: string | undefined
}

export type KnownActor = Pick<Actor, 'now'> & {
  readonly [Fact in Exclude<keyof Actor, 'now'>]?: string | undefined
}

/** A change to record. Must not contain a secret, a digest or a token. */
export interface Change {
  readonly action: ChangeAction
  /** The action that determines the webhook event, if it differs from `action`. */
  readonly reportedAs?: ChangeAction | undefined
  readonly subject: { readonly kind: string; readonly id: string }
  readonly siteId: string | undefined
  /** The affected person, if not the actor. */
  readonly personId?: string | undefined
  readonly reason?: string | undefined
  readonly before?: Record<string, unknown> | undefined
  readonly after?: Record<string, unknown> | undefined
}

type WithAction<Facts> = Omit<Facts, 'action'> & { readonly action: AuditAction }

const columns = [
  ...(['id', 'occurred_at', 'actor_person_id', 'action', 'event_type', 'subject_kind'] as const),
  ...(['subject_id', 'site_id', 'person_id', 'client_id', 'address', 'reason', 'before'] as const),
  ...(['after', 'request_id', 'times'] as const),
]

export type AuditRow = WithAction<Pick<Schema['audit_event'], (typeof columns)[number]>>

/** Records a change in its transaction. Changes by commands have no person or request. @returns the id of the event */
export async function recordAuditEvent(
  kysely: Kysely<Schema>,
  actor: KnownActor,
  change: Change,
): Promise<string> {
  const row = auditRow(actor, change)
  await sendTogether(kysely, auditStatements(kysely, row))
  return row.id
}

/** Builds the statements that write an audit event and, if it has a site and an event type, queue it for webhooks. */
export function auditStatements(kysely: Kysely<Schema>, row: AuditRow): CompiledQuery[] {
  const insertion = insertOne(kysely, row)
  return mayBeQueued(row) ? [insertion, queueOne(kysely, row)] : [insertion]
}

const insertOne = compiledOnce((kysely, value: Valued<AuditRow>) =>
  insertEvents(kysely, [
    Object.fromEntries(columns.map((name) => [name, value(name)])) as AuditRow,
  ]),
)

const queueOne = compiledOnce((kysely, value: Valued<AuditRow>) => ({
  compile: () => eventQueueing(sql`a.id = ${value('id')}`, value('occurred_at')).compile(kysely),
}))

let latest = { nowMs: 0, count: 0 }

/** Generates a UUIDv7 (RFC 9562 §5.7). Within a millisecond, consecutive ids of one process are in order. */
function newEventId(nowMs: number): string {
  latest = { nowMs, count: nowMs === latest.nowMs ? latest.count + 1 : 0 }
  const [time, count] = [nowMs.toString(16).padStart(12, '0'), latest.count % 0x1000]
  const prefix = `${time.slice(0, 8)}-${time.slice(8)}-7${count.toString(16).padStart(3, '0')}`
  // Take the rest from a UUIDv4, which has the same variant and 62 random bits.
  return `${prefix}-${randomUUID().slice(19)}`
}

/** Creates the row of an audit event, with a new id. */
export function auditRow(
  actor: KnownActor,
  { action, reportedAs, subject, siteId, personId, reason, before, after }: WithAction<Change>,
): AuditRow {
  return {
    id: newEventId(actor.now),
    occurred_at: actor.now,
    actor_person_id: actor.personId ?? null,
    action,
    event_type: typeOfAction.get(reportedAs ?? action) ?? null,
    subject_kind: subject.kind,
    subject_id: subject.id,
    site_id: siteId ?? null,
    person_id: personId ?? null,
    client_id: actor.clientId ?? null,
    address: actor.address ?? null,
    reason: reason ?? null,
    before: before ? JSON.stringify(before) : null,
    after: after ? JSON.stringify(after) : null,
    request_id: actor.requestId ?? null,
    times: null,
  }
}

/** Writes audit events, and queues them for webhooks. */
export async function writeAuditRows(
  kysely: Kysely<Schema>,
  rows: readonly AuditRow[],
  nowMs: number,
): Promise<void> {
  const statements: CompiledQuery[] = [insertEvents(kysely, rows).compile()]
  const eventIds = rows.filter(mayBeQueued).map(({ id }) => id)
  if (eventIds.length > 0) {
    const queueing = eventQueueing(sql`a.id in (${sql.join(eventIds)})`, nowMs)
    statements.push(queueing.compile(kysely))
  }
  await sendTogether(kysely, statements)
}

/** Inserts events, except those that an earlier write has stored despite a timeout. */
function insertEvents(kysely: Kysely<Schema>, rows: readonly AuditRow[]) {
  return kysely
    .insertInto('audit_event')
    .values([...rows])
    .onConflict((conflict) => conflict.column('id').doNothing())
}

function mayBeQueued({ event_type, site_id }: AuditRow): boolean {
  return event_type !== null && site_id !== null
}

/** An event to record. Must not contain a secret, a token or text that a person entered. */
export interface AuditNote {
  readonly action: EventAction
  /** The signed-in person who acted. */
  readonly personId?: string | undefined
  /** The person whose account was affected, if no person was signed in. */
  readonly aboutPersonId?: string | undefined
  readonly clientId?: string | undefined
  readonly siteId?: string | undefined
  /** The grant, used only to find the site; it is not stored. */
  readonly grantId?: string | undefined
  readonly reason?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

/** Records an event. Never waits and never fails. */
export type NoteEvent = (note: AuditNote) => void

export interface WaitingEvent {
  readonly row: AuditRow
  readonly grantId: string | undefined
}

/** The maximum length of a reason. Our own reasons are shorter. Longer text from callers is truncated. */
const REASON_CHARACTERS_MAX = 300
const ID_CHARACTERS_MAX = 500

/** Converts an event to a row, to be written later. */
export function waitingEvent(note: AuditNote, at: number, times = 1): WaitingEvent {
  const { action, personId, aboutPersonId, siteId, grantId, address, requestId } = note
  const clientId = note.clientId && cleaned(note.clientId, ID_CHARACTERS_MAX)
  const reason = note.reason && cleaned(note.reason, REASON_CHARACTERS_MAX)
  const id = clientId ?? personId ?? aboutPersonId ?? ''
  const kind = clientId === undefined ? 'person' : 'application'
  const subject = { kind: id === '' ? 'service' : kind, id }
  const actor = { now: at, personId, clientId, address, requestId }
  const row = auditRow(actor, { action, subject, siteId, personId: aboutPersonId, reason })
  return { row: { ...row, times: times === 1 ? null : times }, grantId }
}

/** Truncates text, and removes or replaces characters that would make the database reject the whole batch. */
function cleaned(text: string, charactersMax: number): string {
  return text.slice(0, charactersMax).replaceAll('\0', '').toWellFormed()
}

/**
 * Returns the rows of events, with their sites. If an event has no site, uses the site of its grant or application.
 * Removes the site of a member event (`memberEvents`) if the person does not belong to that site, because its operators
 * must not see the event. Needs at most two queries.
 */
export async function withSites(
  kysely: Kysely<Schema>,
  events: readonly WaitingEvent[],
): Promise<AuditRow[]> {
  const open = events.filter(({ row }) => row.site_id === null)
  const sources = open.flatMap(({ row, grantId }) => grantId ?? row.client_id ?? [])
  const sites = await readSiteIds(kysely, [...new Set(sources)])
  const rows = events.map(({ row, grantId }) => {
    const found = sites.get(grantId ?? row.client_id ?? '') ?? null
    return { ...row, site_id: row.site_id ?? found }
  })
  const ofMembers = rows.filter((row) => row.site_id !== null && memberEvents.has(row.action))
  if (ofMembers.length === 0) return rows
  const roles = await kysely
    .selectFrom('site_role')
    .select(['person_id', 'site_id'])
    .where('person_id', 'in', [...new Set(ofMembers.map(personOf))])
    .where('site_id', 'in', [...new Set(ofMembers.map(({ site_id }) => site_id ?? ''))])
    .execute()
  const belonging = new Set(roles.map((role) => `${role.person_id} ${role.site_id}`))
  return rows.map((row) => {
    const isForeign =
      memberEvents.has(row.action) && !belonging.has(`${personOf(row)} ${row.site_id}`)
    return isForeign ? { ...row, site_id: null } : row
  })
}

async function readSiteIds(kysely: Kysely<Schema>, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, string | null>()
  const rows = await kysely
    .selectFrom('oauth_grant')
    .select(['id', 'site_id'])
    .where('id', 'in', ids)
    .unionAll(
      kysely
        .selectFrom('oauth_application')
        .select(['client_id as id', 'site_id'])
        .where('client_id', 'in', ids),
    )
    .execute()
  return new Map(rows.map(({ id, site_id }) => [id, site_id]))
}

function personOf({ person_id, actor_person_id }: AuditRow): string {
  return person_id ?? actor_person_id ?? ''
}
