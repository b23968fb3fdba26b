/**
 * Runs a change to a site's data in one transaction with its audit event, and only once per idempotency key. Does not
 * depend on the kind of data.
 */

import { createHash, randomBytes } from 'node:crypto'

import { sql, type Transaction } from 'kysely'

import { operates } from '../../directory/sites/site-choice.ts'
import {
  type Actor,
  type Change,
  recordAuditEvent,
} from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { badInput, forbidden } from './refusals.ts'

/** Who changes a site: the operator, with the client, the request and the time. */
export interface SiteActor extends Actor {
  readonly siteId: string
  readonly clientId: string
}

/** The work of a change, inside its transaction. */
type Work<Result> = (trx: Transaction<Schema>, record: RecordChange) => Promise<Result>

/** Writes an audit event for the actor and the site of the change. */
type RecordChange = (
  action: Change['action'],
  subject: Change['subject'],
  values: Pick<Change, 'before' | 'after'>,
) => Promise<void>

/**
 * Changes data of the actor's site, completely or not at all.
 *
 * @throws ChangeRefused if the work throws it, or if the actor is no longer an operator of the site
 */
export async function changeSite<Result>(
  database: Database,
  actor: SiteActor,
  work: Work<Result>,
): Promise<Result> {
  const { siteId, personId } = actor
  return await database.kysely.transaction().execute(async (trx) => {
    await lockSite(trx, database, siteId)
    // Check again, because an earlier field of the same document may have removed the actor's role.
    if (!operates(await findRoles(trx, siteId, personId))) throw forbidden()
    return await work(trx, async (action, subject, values) => {
      await recordAuditEvent(trx, actor, { action, subject, siteId, ...values })
    })
  })
}

/**
 * Serializes the changes of one site, so that data read by a change is still current when it writes. Otherwise two
 * owners could remove each other, or two lectures could get the same position. Changes are rare, and sites do not block
 * each other. SQLite allows only one write transaction anyway.
 */
async function lockSite(
  trx: Transaction<Schema>,
  { engine }: Pick<Database, 'engine'>,
  siteId: string,
): Promise<void> {
  if (engine === 'sqlite') return
  // This lock still allows other writes that refer to the site, such as those of members.
  await sql`select 1 from site where id = ${siteId} for no key update`.execute(trx)
}

/** Returns the sorted roles of a person at a site. */
export async function findRoles(
  trx: Transaction<Schema>,
  siteId: string,
  personId: string,
): Promise<SiteRole[]> {
  const rows = await trx
    .selectFrom('site_role')
    .select('role')
    .where('person_id', '=', personId)
    .where('site_id', '=', siteId)
    .execute()
  return rows.map(({ role }) => role).sort()
}

/** A row to create, with the client's idempotency key. */
export interface Creation {
  /** The prefix of the row id, such as `crs_`. */
  readonly prefix: string
  /** The idempotency key. Repeating a request with the same key and input creates nothing new. */
  readonly idempotencyKey?: string | null | undefined
  /** The input. A repeated key must come with the same input. */
  readonly input: object
  /** Finds the row of an earlier request. If that row was removed, the key may create another. */
  readonly find: (trx: Transaction<Schema>, siteId: string, id: string) => Promise<unknown>
  /** Inserts the row under its new id. */
  readonly insert: (id: string, ...rest: Parameters<Work<void>>) => Promise<void>
}

/** How long an idempotency key is remembered, in seconds. */
const KEY_SECONDS = 7 * 86_400

/**
 * Creates a row once per idempotency key of the client at the site. Of two concurrent requests, the second waits for
 * the transaction of the first.
 *
 * @returns the id of the new row, or of the row created earlier
 * @throws ChangeRefused if the key was used with other input, or if `insert` throws it
 */
export async function createAtSite(
  database: Database,
  actor: SiteActor,
  creation: Creation,
): Promise<string> {
  const id = newId(creation.prefix)
  return await changeSite(database, actor, async (trx, record) => {
    const before = await useKey(trx, actor, creation, id)
    if (before !== undefined) return before
    await creation.insert(id, trx, record)
    return id
  })
}

/** Generates a unique id: a prefix and 120 random bits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(15).toString('base64url')}`
}

/** Assigns a new id to an idempotency key. @returns the id that the key created earlier, if that row still exists */
async function useKey(
  trx: Transaction<Schema>,
  { siteId, clientId, now }: SiteActor,
  { prefix, idempotencyKey, input, find }: Creation,
  id: string,
): Promise<string | undefined> {
  if (idempotencyKey == null) return undefined
  const digest = createHash('sha256')
    .update(JSON.stringify([prefix, input]))
    .digest('base64url')
  const use = { made_id: id, expires_at: now + KEY_SECONDS * 1000 }
  const key = { site_id: siteId, client_id: clientId, key: idempotencyKey }
  const isKey = sql<boolean>`site_id = ${siteId} and client_id = ${clientId} and key = ${idempotencyKey}`
  const taken = await trx
    .insertInto('change_key')
    .values({ ...key, ...use, digest })
    .onConflict((conflict) => conflict.doNothing())
    .returning('key')
    .executeTakeFirst()
  if (taken) return undefined
  const before = await trx
    .selectFrom('change_key')
    .select(['digest', 'made_id'])
    .where(isKey)
    .executeTakeFirstOrThrow()
  if (before.digest !== digest) {
    throw badInput('idempotencyKey', 'was used for another change; send a new key')
  }
  if (await find(trx, siteId, before.made_id)) return before.made_id
  await trx.updateTable('change_key').set(use).where(isKey).execute()
  return undefined
}

/** The columns that a change modifies, with their values before and after. */
interface Difference<Row> {
  readonly before: Partial<Row> & Record<string, unknown>
  readonly after: Partial<Row> & Record<string, unknown>
}

/** Compares a row with its new values. @returns undefined if they are equal */
export function differenceOf<Row extends object>(
  row: Row,
  wanted: Partial<Row>,
): Difference<Row> | undefined {
  const names = (Object.keys(wanted) as (keyof Row & string)[]).filter(
    (name) => wanted[name] !== row[name],
  )
  if (names.length === 0) return undefined
  const pick = (from: Partial<Row>) =>
    Object.fromEntries(names.map((name) => [name, from[name]])) as Difference<Row>['before']
  return { before: pick(row), after: pick(wanted) }
}
