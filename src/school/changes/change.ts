/**
 * Runs a change to a site's data in one transaction with its audit event, and once for each idempotency key.
 * It does not know what is changed.
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

/** The operator who changes a site, through which client, in which request, when. */
export interface SiteActor extends Actor {
  readonly siteId: string
  readonly clientId: string
}

/** The work of a change, within its transaction. */
type Work<Result> = (trx: Transaction<Schema>, record: RecordChange) => Promise<Result>

/** Writes an audit event for the actor and the site of the change. */
type RecordChange = (
  action: Change['action'],
  subject: Change['subject'],
  values: Pick<Change, 'before' | 'after'>,
) => Promise<void>

/**
 * Changes data of the actor's site, all of it or nothing.
 *
 * @throws ChangeRefused when the work throws it, or when the actor no longer operates the site
 */
export async function changeSite<Result>(
  database: Database,
  actor: SiteActor,
  work: Work<Result>,
): Promise<Result> {
  const { siteId, personId } = actor
  return await database.kysely.transaction().execute(async (trx) => {
    await lockSite(trx, database, siteId)
    // Check again: an earlier field of the same document may have removed the actor's role.
    if (!operates(await findRoles(trx, siteId, personId))) throw forbidden()
    return await work(trx, async (action, subject, values) => {
      await recordAuditEvent(trx, actor, { action, subject, siteId, ...values })
    })
  })
}

/**
 * Serializes the changes of one site, so that what a change reads still holds when it writes: two owners who
 * remove each other, two lectures in one place. Changes are rare, and sites do not block each other. SQLite
 * has one writer anyway, from the start of its transaction.
 */
async function lockSite(
  trx: Transaction<Schema>,
  { engine }: Pick<Database, 'engine'>,
  siteId: string,
): Promise<void> {
  if (engine === 'sqlite') return
  // This lock still lets others, such as members, write rows that refer to the site.
  await sql`select 1 from site where id = ${siteId} for no key update`.execute(trx)
}

/** The roles of a person at a site, sorted. */
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
  /** The prefix of its id, as in `crs_`. */
  readonly prefix: string
  /** A repetition with the same key and the same input creates nothing. */
  readonly idempotencyKey?: string | null | undefined
  /** The input, which must be the same when a key is repeated. */
  readonly input: object
  /** Finds an earlier row: a key whose row was removed may create another one. */
  readonly find: (trx: Transaction<Schema>, siteId: string, id: string) => Promise<unknown>
  /** Inserts the row with its new id. */
  readonly insert: (id: string, ...rest: Parameters<Work<void>>) => Promise<void>
}

/** How long a repetition is recognized. */
const KEY_SECONDS = 7 * 86_400

/**
 * Creates a row once for each idempotency key of the client at the site. Of two concurrent requests the
 * second waits for the transaction of the first.
 *
 * @returns the id, new or from the first time
 * @throws ChangeRefused when the key was used with other input, or when `insert` throws it
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

/** A unique id: 120 random bits after a prefix. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(15).toString('base64url')}`
}

/**
 * Assigns a new id to an idempotency key.
 *
 * @returns the id that the key created before, if its row still exists
 */
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

/** The columns that a change alters, with their values before and after. */
interface Difference<Row> {
  readonly before: Partial<Row> & Record<string, unknown>
  readonly after: Partial<Row> & Record<string, unknown>
}

/** @returns nothing when the row already has these values */
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
