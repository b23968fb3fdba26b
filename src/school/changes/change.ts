/**
 * How the data of a site change at its operator's hand: in one transaction with the line in the audit
 * trail, once for each idempotency key, or refused in words. What is changed is not known here.
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
import type { Schema } from '../../platform/store/schema.ts'
import { badInput, forbidden } from './refusals.ts'

/** Who changes something of which site, by which client, in which request, when. */
export interface SiteActor extends Actor {
  readonly siteId: string
  readonly clientId: string
}

/** What is done within the transaction of a change. */
export type Work<Result> = (trx: Transaction<Schema>, record: RecordChange) => Promise<Result>

/** Writes the change down; the site and the actor are known. */
export type RecordChange = (change: Omit<Change, 'siteId'>) => Promise<void>

/**
 * Changes something of the actor's site, whole or not at all.
 *
 * @throws ChangeRefused when the work does, or when the actor does not operate the site any more; nothing
 * was changed then
 */
export async function changeSite<Result>(
  database: Database,
  actor: SiteActor,
  work: Work<Result>,
): Promise<Result> {
  return await database.kysely.transaction().execute(async (trx) => {
    await takeTurn(trx, database, actor)
    await mustOperate(trx, actor)
    return await work(trx, recordBy(trx, actor))
  })
}

/**
 * The changes of one site come one after the other, so that what a change reads is still so when it
 * writes: two owners who remove each other, two starts and ends of one event, two lectures in one
 * place. Operators change seldom, and the sites do not wait for one another. SQLite has one writer
 * anyway, from the beginning of its transaction.
 */
async function takeTurn(
  trx: Transaction<Schema>,
  { engine }: Pick<Database, 'engine'>,
  { siteId }: SiteActor,
): Promise<void> {
  if (engine === 'sqlite') return
  // Rows that refer to the site can be written meanwhile, by members for example.
  await sql`select 1 from site where id = ${siteId} for no key update`.execute(trx)
}

/**
 * The token was judged when the request came. Whoever lost their role meanwhile, in this very document
 * perhaps, changes nothing any more.
 */
async function mustOperate(
  trx: Transaction<Schema>,
  { personId, siteId }: SiteActor,
): Promise<void> {
  const held = await trx
    .selectFrom('site_role')
    .select('role')
    .where('person_id', '=', personId)
    .where('site_id', '=', siteId)
    .execute()
  if (!operates(held.map(({ role }) => role))) throw forbidden()
}

/** What is made, and how often the same wish may come. */
export interface Creation {
  /** The prefix of its id, as in `crs_`. */
  readonly prefix: string
  /** Chosen by the client; a repetition with the same key and the same wish makes nothing new. */
  readonly idempotencyKey?: string | null | undefined
  /** What is wished for, by which a key that is used again for something else is recognized. */
  readonly wish: object
  /** Whether what was made before is still there: what was removed may be wished for again. */
  readonly isThere: (trx: Transaction<Schema>, id: string) => Promise<boolean>
  /** Writes it, with its new id. */
  readonly make: (id: string, ...rest: Parameters<Work<void>>) => Promise<void>
}

/** How long a repetition is recognized. */
const KEY_SECONDS = 7 * 86_400

/**
 * Makes something with a new id, once for each idempotency key of the client at the site. Two that
 * come at once make one: the second waits for the first one's transaction.
 *
 * @returns its id, new or of the first time
 * @throws ChangeRefused when the key stands for another wish, or `make` throws it
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
    await creation.make(id, trx, record)
    return id
  })
}

/** An id that nothing has: 120 random bits after the prefix of its kind. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(15).toString('base64url')}`
}

/**
 * Lets an idempotency key stand for a new id.
 *
 * @returns the id that was made under this key before and is still there; nothing when the key is new
 */
async function useKey(
  trx: Transaction<Schema>,
  { siteId, clientId, now }: SiteActor,
  { prefix, idempotencyKey, wish, isThere }: Creation,
  id: string,
): Promise<string | undefined> {
  if (idempotencyKey == null) return undefined
  const digest = createHash('sha256')
    .update(JSON.stringify([prefix, wish]))
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
    throw badInput('idempotencyKey', 'stands for another change already')
  }
  if (await isThere(trx, before.made_id)) return before.made_id
  // It was removed: from now on the key stands for what is made in its place.
  await trx.updateTable('change_key').set(use).where(isKey).execute()
  return undefined
}

function recordBy(trx: Transaction<Schema>, actor: SiteActor): RecordChange {
  return async (change) => await recordAuditEvent(trx, actor, { ...change, siteId: actor.siteId })
}

/** What of a row is to be another: the values before and after, and nothing that stays. */
export interface Difference<Row> {
  readonly before: Partial<Row> & Record<string, unknown>
  readonly after: Partial<Row> & Record<string, unknown>
}

/** @returns nothing when the row has these values already */
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
