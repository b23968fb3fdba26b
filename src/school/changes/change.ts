/** Runs changes to a site's data, each in one transaction with its audit event. */

import { createHash, randomBytes } from 'node:crypto'

import { type Kysely, sql, type Transaction } from 'kysely'

import { operates } from '../../directory/sites/site-choice.ts'
import {
  type Actor,
  type Change,
  recordAuditEvent,
} from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { badInput, forbidden } from './refusals.ts'

/** The operator who changes a site, with the client, the request and the time. */
export interface SiteActor extends Actor {
  readonly siteId: string
  readonly clientId: string
}

type Work<Result> = (trx: Transaction<Schema>, record: RecordChange) => Promise<Result>

/** Records an audit event of the actor at the site. */
type RecordChange = (
  action: Change['action'],
  subject: Change['subject'],
  values: Pick<Change, 'before' | 'after' | 'personId'>,
) => Promise<void>

/**
 * Runs a change of the actor's site in one transaction. Changes of the same site run one after the other.
 *
 * @throws ChangeRefused if the actor is no longer an operator of the site, or if `work` throws it
 */
export async function changeSite<Result>(
  database: Database,
  actor: SiteActor,
  work: Work<Result>,
): Promise<Result> {
  const { siteId, personId } = actor
  return await database.kysely.transaction().execute(async (trx) => {
    await lockSite(trx, database, siteId)
    // Check again, because an earlier mutation in the same document may have removed the actor's role.
    if (!operates(await findRoles(trx, siteId, personId))) throw forbidden()
    return await work(trx, async (action, subject, values) => {
      await recordAtSite(trx, actor, { action, subject, siteId, ...values })
    })
  })
}

/** Records a change at a site by a person who need not operate it. */
export const recordAtSite: typeof recordAuditEvent = recordAuditEvent

/**
 * Locks the site until the transaction ends, so what a change has read is still true when it writes. Otherwise two
 * owners could remove each other, or two lectures could get the same position. Changes are rare, and sites do not block
 * each other. SQLite allows only one write transaction anyway.
 */
export async function lockSite(
  trx: Transaction<Schema>,
  { engine }: Pick<Database, 'engine'>,
  siteId: string,
): Promise<void> {
  if (engine === 'sqlite') return
  // With this lock, others can still write rows that refer to the site.
  await sql`select 1 from site where id = ${siteId} for no key update`.execute(trx)
}

/** Returns the sorted roles of a person at a site. */
export async function findRoles(
  kysely: Kysely<Schema>,
  siteId: string,
  personId: string,
): Promise<SiteRole[]> {
  const rows = await kysely
    .selectFrom('site_role')
    .select('role')
    .where('person_id', '=', personId)
    .where('site_id', '=', siteId)
    .execute()
  return rows.map(({ role }) => role).sort()
}

/** A row to create, with the client's idempotency key. */
export interface Creation {
  /** The prefix of the row id, such as `crs`. */
  readonly prefix: string
  /** Repeating a request with the same key and input creates nothing new. */
  readonly idempotencyKey?: string | null | undefined
  readonly input: object
  /** Finds the row of an earlier request. If that row was removed, the key may create another. */
  readonly find: (trx: Transaction<Schema>, siteId: string, id: string) => Promise<unknown>
  readonly insert: (id: string, ...rest: Parameters<Work<void>>) => Promise<void>
}

/** How long an idempotency key is stored, in seconds. Clean-up then deletes it. */
const KEY_SECONDS = 7 * 86_400

/**
 * Creates a row, but only once if the client repeats an idempotency key at the site.
 *
 * @returns the id of the new row, or of the row created earlier
 * @throws ChangeRefused as `changeSite` does, and if the key was used with other input
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

/** Generates a unique id: the prefix, an underscore and 120 random bits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(15).toString('base64url')}`
}

/** Stores the new id under the idempotency key, unless the row of an earlier id exists. @returns that earlier id */
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
    throw badInput('idempotencyKey', 'was used for a different change; send a new key')
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

/** Compares a row with new values for some of its columns. @returns undefined if none differs */
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
