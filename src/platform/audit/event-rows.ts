import { randomUUID } from 'node:crypto'

import type { Kysely } from 'kysely'

import type { Schema } from '../store/schema.ts'
import { type EventAction, memberEvents } from './audit-actions.ts'
import type { AuditRow } from './record-audit-event.ts'

/** An event to record. Must not contain a secret, a token or text that a person entered. */
export interface AuditNote {
  readonly action: EventAction
  /** The signed-in person who acted. */
  readonly personId?: string | undefined
  /** The person whose account was affected, if no person was signed in. */
  readonly aboutPersonId?: string | undefined
  readonly clientId?: string | undefined
  readonly siteId?: string | undefined
  /** The grant, used only to look up the site. */
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

/** The maximum length of a reason. All our reasons are shorter; longer text from callers is truncated. */
const REASON_CHARACTERS_MAX = 300
const ID_CHARACTERS_MAX = 500

/** Creates the row of an event, to be written later. */
export function waitingEvent(note: AuditNote, at: number, times = 1): WaitingEvent {
  const { action, personId, aboutPersonId, clientId, siteId, grantId } = note
  const [kind, id] =
    clientId === undefined ? ['person', personId ?? aboutPersonId ?? ''] : ['application', clientId]
  const row: AuditRow = {
    id: randomUUID(),
    occurred_at: at,
    actor_person_id: personId ?? null,
    action,
    subject_kind: id === '' ? 'service' : kind,
    subject_id: cleaned(id, ID_CHARACTERS_MAX),
    site_id: siteId ?? null,
    person_id: aboutPersonId ?? null,
    client_id: clientId === undefined ? null : cleaned(clientId, ID_CHARACTERS_MAX),
    address: note.address ?? null,
    reason: note.reason === undefined ? null : cleaned(note.reason, REASON_CHARACTERS_MAX),
    request_id: note.requestId ?? null,
    times: times === 1 ? null : times,
  }
  return { row, grantId }
}

/** Truncates a text, and removes characters that databases reject: one of them would make the whole batch fail. */
function cleaned(text: string, charactersMax: number): string {
  return text.slice(0, charactersMax).replaceAll('\0', '').toWellFormed()
}

/**
 * Returns the rows of the events. An event without a site gets that of its grant or application. The site of a member
 * event (`memberEvents`) is removed if the person does not belong to it. Needs at most three queries.
 */
export async function withSites(
  kysely: Kysely<Schema>,
  events: readonly WaitingEvent[],
): Promise<AuditRow[]> {
  const open = events.filter(({ row }) => row.site_id === null)
  const grantIds = open.flatMap(({ grantId }) => grantId ?? [])
  const clientIds = open.flatMap(({ row, grantId }) => (grantId ? [] : (row.client_id ?? [])))
  const grants = await findBy(grantIds, (ids) =>
    kysely.selectFrom('oauth_grant').select(['id', 'site_id']).where('id', 'in', ids).execute(),
  )
  const applications = await findBy(clientIds, (ids) =>
    kysely
      .selectFrom('oauth_application')
      .select(['client_id as id', 'site_id'])
      .where('client_id', 'in', ids)
      .execute(),
  )
  const siteOfGrant = new Map(grants.map(({ id, site_id }) => [id, site_id]))
  const siteOfClient = new Map(applications.map(({ id, site_id }) => [id, site_id]))
  const rows = events.map(({ row, grantId }) => {
    const found = grantId ? siteOfGrant.get(grantId) : siteOfClient.get(row.client_id ?? '')
    return { ...row, site_id: row.site_id ?? found ?? null }
  })
  return await withoutForeignSites(kysely, rows)
}

/** Removes the site from member events of people who do not belong to it, so its operators do not see these events. */
async function withoutForeignSites(kysely: Kysely<Schema>, rows: readonly AuditRow[]) {
  const ofMembers = rows.filter(
    ({ action, site_id }) => site_id !== null && memberEvents.has(action),
  )
  const siteIds = ofMembers.flatMap(({ site_id }) => site_id ?? [])
  const personIds = ofMembers.flatMap((row) => personOf(row) ?? [])
  const roles = await findBy(personIds, (ids) =>
    kysely
      .selectFrom('site_role')
      .select(['person_id', 'site_id'])
      .where('person_id', 'in', ids)
      .where('site_id', 'in', [...new Set(siteIds)])
      .execute(),
  )
  const belonging = new Set(roles.map((role) => `${role.person_id} ${role.site_id}`))
  return rows.map((row) => {
    const isForeign =
      memberEvents.has(row.action) && !belonging.has(`${personOf(row)} ${row.site_id}`)
    return isForeign ? { ...row, site_id: null } : row
  })
}

async function findBy<Row>(
  ids: readonly string[],
  find: (ids: readonly string[]) => Promise<Row[]>,
): Promise<Row[]> {
  return ids.length === 0 ? [] : await find([...new Set(ids)])
}

function personOf({ person_id, actor_person_id }: AuditRow): string | null | undefined {
  return person_id ?? actor_person_id
}
