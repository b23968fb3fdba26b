import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { type RawBuilder, sql, type Transaction } from 'kysely'

import { queueMail } from '../../directory/mail/messages.ts'
import { endAllAccess } from '../../oauth/grants/end-access.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { listSolelyOwned } from '../members/site-roles.ts'
import { areOf, personalRows } from './personal-data.ts'

/**
 * Schedules the deletion of an account, and ends its sessions and grants. Signing in before the account is deleted
 * cancels the deletion. Does nothing if the person is the last owner of a site.
 *
 * @returns the names of sites that need another owner first (empty on success); undefined if there is no such account
 */
export async function scheduleDeletion(
  trx: Transaction<Schema>,
  { engine }: Pick<Database, 'engine'>,
  { personId, dueAt }: { readonly personId: string; readonly dueAt: number },
  actor: Partial<Actor> & Pick<Actor, 'now'>,
): Promise<readonly string[] | undefined> {
  const sites = await lockSolelyOwned(trx, engine, personId)
  if (sites.length > 0) return sites
  const { numUpdatedRows } = await trx
    .updateTable('person')
    .set({ deletion_due_at: dueAt })
    .where('id', '=', personId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return undefined
  await endAllAccess(trx, personId, { reason: REASON, untilMs: actor.now }, actor)
  const after = { dueAt: new Date(dueAt).toISOString() }
  const event = { ...about(personId), action: 'account.deletion_scheduled', after } as const
  await recordAuditEvent(trx, actor, event)
  return []
}

/** Returns the names of solely owned sites. Locks all owned sites on PostgreSQL, so two owners cannot leave at once. */
async function lockSolelyOwned(trx: Transaction<Schema>, engine: Database['engine'], id: string) {
  if (engine === 'postgres') {
    await sql`select 1 from site where id in (select site_id from site_role
      where person_id = ${id} and role = 'owner') order by id for no key update`.execute(trx)
  }
  return (await listSolelyOwned(trx, id)).map(({ name }) => name)
}

const REASON = 'the person deleted the account'

function about(personId: string) {
  return { subject: { kind: 'person', id: personId }, siteId: undefined, personId }
}

interface DeletionPorts {
  readonly database: Database
  readonly now: () => number
  readonly sweeps?: (() => boolean) | undefined
}

const ROWS_PER_BATCH = 500
/** The pause between batches, so that requests can write. */
const PAUSE_MS = 10

/** Creates the background task that deletes the accounts that are due. */
export function deletionTask({ database, now, sweeps }: DeletionPorts, everySeconds: number) {
  const run = async (signal: AbortSignal) => await deleteDueAccounts({ database, now }, signal)
  return { name: 'deletions', everySeconds, run, onlyWhen: sweeps }
}

/** Deletes up to 500 due accounts. The next run continues with an account that a crash left half deleted. */
export async function deleteDueAccounts(ports: DeletionPorts, signal: AbortSignal): Promise<void> {
  const { database, now } = ports
  const due = database.kysely.selectFrom('person').select('id').limit(ROWS_PER_BATCH)
  for (const { id } of await due.where('deletion_due_at', '<=', now()).execute()) {
    if (signal.aborted) return
    const begin = async (trx: Transaction<Schema>) => await beginDeletion(trx, ports, id)
    if (!(await database.kysely.transaction().execute(begin))) continue
    const person = await deleteRows(database, id)
    await database.kysely.transaction().execute(async (trx) => await removeName(trx, person, now()))
  }
}

/** Disables a due account, or cancels the deletion for a site's last owner. @returns whether it disabled the account */
async function beginDeletion(
  trx: Transaction<Schema>,
  { database, now }: DeletionPorts,
  personId: string,
): Promise<boolean> {
  const nowMs = now()
  const sites = await lockSolelyOwned(trx, database.engine, personId)
  const [deleted_at, disabled_at] = ['deleted_at', 'disabled_at'].map(
    (column) => sql<number>`coalesce(${sql.ref(column)}, ${nowMs})`,
  )
  const person = await trx
    .updateTable('person')
    .set(sites.length > 0 ? { deletion_due_at: null } : { deleted_at, disabled_at })
    .where('id', '=', personId)
    .where('deletion_due_at', '<=', nowMs)
    .returning('email')
    .executeTakeFirst()
  if (!person) return false
  if (sites.length === 0) {
    await endAllAccess(trx, personId, { reason: REASON, untilMs: nowMs }, { now: nowMs })
    await leaveSites(trx, personId, nowMs)
    return true
  }
  const event = { ...about(personId), reason: 'the person is the last owner of a site' }
  await recordAuditEvent(trx, { now: nowMs }, { ...event, action: 'account.deletion_cancelled' })
  const mail = { kind: 'deletion_stopped', to: person.email, personId } as const
  await queueMail(trx, { ...mail, values: { sites } }, nowMs)
  return false
}

/** Removes all roles of a person. Records an audit event for each site. */
async function leaveSites(trx: Transaction<Schema>, personId: string, now: number): Promise<void> {
  const removed = trx.deleteFrom('site_role').where('person_id', '=', personId)
  const rows = await removed.returning(['site_id', 'role']).execute()
  for (const [siteId, held] of Map.groupBy(rows, ({ site_id }) => site_id)) {
    const before = { roles: held.map(({ role }) => role).sort() }
    const change = { ...about(personId), siteId, reason: REASON, before, after: { roles: [] } }
    await recordAuditEvent(trx, { now }, { action: 'member.remove', ...change })
  }
}

/**
 * Deletes the person's rows, in batches, from the tables that `personalRows` marks `isDeleted`. Removes personal data
 * from the audit trail and the webhook log. Keeps the person's row and returns the person. Idempotent.
 */
async function deleteRows({ kysely }: Database, personId: string): Promise<LeavingPerson> {
  for (const rows of personalRows.filter(({ isDeleted }) => isDeleted)) {
    const first = sql.ref(rows.columns[0] ?? '')
    const all = sql`from ${sql.table(rows.table)} where ${areOf(rows, personId)}`
    const batch = sql`delete ${all} and ${first} in (select ${first} ${all} limit ${ROWS_PER_BATCH})`
    while ((await batch.execute(kysely)).numAffectedRows) await delay(PAUSE_MS)
  }
  const person = await kysely
    .selectFrom('person')
    .select(['id', 'name', 'email', 'email_canonical'])
    .where('id', '=', personId)
    .executeTakeFirstOrThrow()
  for (let last: string | undefined = ''; last !== undefined; await delay(PAUSE_MS)) {
    const { rows } = await sql<{ id: string }>`update audit_event
      set before = ${redacted('before', person)}, after = ${redacted('after', person)},
        address = case when coalesce(actor_person_id, person_id) = ${personId} then null else address end
      where id in (select id from audit_event where id > ${last}
        and (actor_person_id = ${personId} or person_id = ${personId})
        order by id limit ${ROWS_PER_BATCH})
      returning id`.execute(kysely)
    const ids = rows.map(({ id }) => id).toSorted()
    const log = kysely.updateTable('webhook_delivery').set({ response: null })
    await log.where('event_id', 'in', ['', ...ids]).execute()
    last = ids.at(-1)
  }
  return person
}

type LeavingPerson = Readonly<Record<'id' | 'name' | 'email' | 'email_canonical', string>>

/** Returns the SQL that redacts a JSON column: strings that equal the name, and all occurrences of the addresses. */
function redacted(
  column: 'before' | 'after',
  { name, ...person }: LeavingPerson,
): RawBuilder<string> {
  const named = sql<string>`replace(${sql.ref(column)}, ${JSON.stringify(name)}, '"(deleted)"')`
  return [person.email, person.email_canonical].reduce(
    (json, address) =>
      sql<string>`replace(${json}, ${JSON.stringify(address).slice(1, -1)}, '(deleted)')`,
    named,
  )
}

const ADDRESS_BYTES = 12

/** Clears the personal columns, cancels registrations for future events, and queues a last e-mail. Idempotent. */
async function removeName(
  trx: Transaction<Schema>,
  { id, email, email_canonical }: LeavingPerson,
  nowMs: number,
): Promise<void> {
  const address = `deleted-${randomBytes(ADDRESS_BYTES).toString('hex')}@deleted.invalid`
  const { numUpdatedRows } = await trx
    .updateTable('person')
    .set({ name: 'Deleted person', email: address, email_canonical: address })
    .set({ email_verified_at: null, preferred_username: null, picture: null, locale: null })
    .set({ time_zone: null, password_hash: null, imported_hash_digest: null })
    .set({ updated_at: null, deletion_due_at: null })
    .where('id', '=', id)
    .where('deletion_due_at', 'is not', null)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return
  await trx.deleteFrom('one_time_link').where('email_canonical', '=', email_canonical).execute()
  await freePlaces(trx, id, nowMs)
  await queueMail(trx, { kind: 'account_deleted', to: email, values: {} }, nowMs)
  await recordAuditEvent(trx, { now: nowMs }, { ...about(id), action: 'account.deleted' })
}

/** Cancels the registrations of a person for events that have not begun. */
async function freePlaces(trx: Transaction<Schema>, personId: string, nowMs: number) {
  const coming = await trx
    .selectFrom('event_registration as r')
    .innerJoin('event', 'event.id', 'r.event_id')
    .select(['r.id', 'event.id as eventId', 'event.site_id as siteId'])
    .where('r.person_id', '=', personId)
    .where('r.cancelled_at', 'is', null)
    .where('event.starts_at', '>', nowMs)
    .execute()
  for (const { id, eventId, siteId } of coming) {
    const registration = trx.updateTable('event_registration').where('id', '=', id)
    await registration.set({ cancelled_at: nowMs }).execute()
    const change = { siteId, personId, reason: REASON, before: { eventId, personId } }
    const subject = { kind: 'event_registration', id }
    const action = 'event.cancel_registration'
    await recordAuditEvent(trx, { now: nowMs }, { action, subject, ...change })
  }
}
