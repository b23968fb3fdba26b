/** Runs changes to a site's data, each in one transaction with its audit events. */

import { randomBytes } from 'node:crypto'

import { type CompiledQuery, type Kysely, sql, type Transaction } from 'kysely'
import type { z } from 'zod'

import { operates } from '../../directory/sites/site-choice.ts'
import {
  type Actor,
  type AuditRow,
  auditRow,
  auditStatements,
  type Change,
} from '../../platform/audit/record-audit-event.ts'
import {
  compiledOnce,
  runStatement,
  sendBeforeCommit,
  sendTogether,
  type Valued,
} from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { readInput } from './input.ts'
import { badInput, ChangeRefused } from './refusals.ts'

/** The operator who changes a site, with the request, the time, and the client (undefined for our pages). */
export interface SiteActor extends Actor {
  readonly siteId: string
}

/** The transaction and actor of a change, and functions that write at its end. */
export interface SiteWork {
  readonly trx: Transaction<Schema>
  readonly actor: SiteActor
  /** Records an audit event for the actor, and returns its id. The event is written at the end of the change. */
  readonly record: (
    action: Change['action'],
    subject: Change['subject'],
    values: Pick<Change, 'before' | 'after' | 'personId' | 'reportedAs'>,
  ) => string
  /** Defers a write that returns no rows to the end of the change, before the audit events are written. */
  readonly writeLast: (query: { compile(): CompiledQuery }) => void
}

/**
 * Runs a change to the actor's site in one transaction. Changes to the same site run one after another.
 *
 * @throws ChangeRefused if the actor is no longer an operator of the site, or if `work` throws ChangeRefused
 */
export async function changeSite<Result>(
  database: Database,
  actor: SiteActor,
  work: (site: SiteWork) => Promise<Result>,
): Promise<Result> {
  const { siteId, personId } = actor
  return await database.kysely.transaction().execute(async (trx) => {
    const locks = database.engine === 'sqlite' ? [] : [siteLock(trx, { siteId })]
    const held = await sendTogether(trx, [...locks, rolesOf(trx, { siteId, personId })])
    // Check again, because an earlier mutation in the same document may have removed the actor's role.
    if (!operates(held.map(({ role }) => role))) {
      const message = 'you no longer operate this site; ask an owner to restore your role'
      throw new ChangeRefused('FORBIDDEN', message)
    }
    const events: AuditRow[] = []
    const writes: CompiledQuery[] = []
    const record: SiteWork['record'] = (action, subject, values) => {
      const event = auditRow(actor, { action, subject, siteId, ...values })
      events.push(event)
      return event.id
    }
    const writeLast: SiteWork['writeLast'] = (query) => void writes.push(query.compile())
    const result = await work({ trx, actor, record, writeLast })
    const audit = events.flatMap((event) => auditStatements(trx, event))
    await sendBeforeCommit(trx, database.engine, [...writes, ...audit])
    return result
  })
}

/** Creates a function that runs a change with `changeSite`. */
export function siteChange<Input, Result>(work: (site: SiteWork, input: Input) => Promise<Result>) {
  return async (database: Database, actor: SiteActor, input: Input): Promise<Result> =>
    await changeSite(database, actor, async (site) => await work(site, input))
}

/** Creates a function that validates an input, and then runs a change with `changeSite`. */
export function checkedChange<Input extends z.ZodType, Result>(
  schema: Input,
  work: (site: SiteWork, input: z.output<Input>) => Promise<Result>,
) {
  const change = siteChange(work)
  return async (database: Database, actor: SiteActor, input: z.input<Input>): Promise<Result> =>
    await change(database, actor, readInput(schema, input))
}

/**
 * Locks the site until the transaction ends, so changes to the site run one after another. Otherwise, two owners could
 * remove each other, or two lectures could get the same position. Changes are rare, and sites do not block each other.
 * No-op on SQLite, which allows only one write transaction at a time.
 */
export async function lockSite(
  trx: Transaction<Schema>,
  { engine }: Pick<Database, 'engine'>,
  siteId: string,
): Promise<void> {
  if (engine !== 'sqlite') await trx.executeQuery(siteLock(trx, { siteId }))
}

const siteLock = compiledOnce((kysely, value: Valued<{ siteId: string }>) => ({
  // This lock mode lets other transactions write rows that refer to the site.
  compile: () =>
    sql<never>`select 1 from site where id = ${value('siteId')} for no key update`.compile(kysely),
}))

/** Returns the sorted roles of a person at a site. */
export async function findRoles(kysely: Kysely<Schema>, siteId: string, personId: string) {
  const { rows } = await runStatement(kysely, rolesOf(kysely, { siteId, personId }))
  return rows.map(({ role }) => role).sort()
}

const rolesOf = compiledOnce((kysely, value: Valued<{ siteId: string; personId: string }>) =>
  kysely
    .selectFrom('site_role')
    .select('role')
    .where('person_id', '=', value('personId'))
    .where('site_id', '=', value('siteId')),
)

/** The parameters of `siteCreation`: id prefix, input schema, and functions to find and insert rows. */
interface Creation<Input extends z.ZodType> {
  /** The prefix of the row id, such as `crs`. */
  readonly prefix: string
  /** The schema of the input, which may contain an idempotency key. */
  readonly schema: Input
  /** Finds the row that an earlier request with the key created. If it was deleted, a repetition creates a new row. */
  readonly find: (trx: Transaction<Schema>, siteId: string, id: string) => Promise<unknown>
  readonly insert: (
    site: SiteWork,
    id: string,
    values: Omit<z.output<Input>, 'idempotencyKey'>,
  ) => Promise<void>
}

/** The id of the row, and whether it is new. An earlier request with the same key may have created it. */
export interface Created {
  readonly id: string
  readonly isNew: boolean
}

/** The lifetime of an idempotency key, in seconds. Afterwards, clean-up deletes the key. */
const KEY_SECONDS = 7 * 86_400

/**
 * Creates a function that creates a row. If a client repeats an idempotency key at the site within `KEY_SECONDS`, the
 * function creates no second row while the first row exists. It returns the id of the row, and whether the row is new.
 * It throws ChangeRefused if the input is invalid, the key was used with another input, or `changeSite` throws it.
 */
export function siteCreation<
  Input extends z.ZodType<{ readonly idempotencyKey?: string | null | undefined }>,
>({ prefix, schema, find, insert }: Creation<Input>) {
  return async (database: Database, actor: SiteActor, input: z.input<Input>): Promise<Created> => {
    const { idempotencyKey: key, ...values } = readInput(schema, input)
    const id = newId(prefix)
    const digest = sha256(JSON.stringify([prefix, values]))
    return await changeSite(database, actor, async (site) => {
      const before = key == null ? undefined : await useKey(site, { key, digest, id, find })
      if (before !== undefined) return { id: before, isNew: false }
      await insert(site, id, values)
      return { id, isNew: true }
    })
  }
}

/** Generates a unique id: the prefix, an underscore and 120 random bits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(15).toString('base64url')}`
}

type KeyUse = Pick<Creation<z.ZodType>, 'find'> & Readonly<Record<'key' | 'digest' | 'id', string>>

/** Stores the new id under the key, or returns the id of an existing row. @throws ChangeRefused if the input differs */
async function useKey(
  { trx, actor: { siteId, clientId = '', now } }: SiteWork,
  { key, digest, id, find }: KeyUse,
): Promise<string | undefined> {
  const use = { made_id: id, expires_at: now + KEY_SECONDS * 1000 }
  const isKey = sql<boolean>`site_id = ${siteId} and client_id = ${clientId} and key = ${key}`
  const taken = await trx
    .insertInto('change_key')
    .values({ site_id: siteId, client_id: clientId, key, digest, ...use })
    .onConflict((conflict) =>
      conflict
        .columns(['site_id', 'client_id', 'key'])
        .doUpdateSet({ digest, ...use })
        // An expired key that clean-up has not deleted yet can be used again.
        .where('change_key.expires_at', '<=', now),
    )
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

/** The values of some columns of a row. */
type Columns<Row> = Partial<Row> & Record<string, unknown>

/** Compares a row with new values. @returns the old and new values that differ; undefined if none differs */
export function differenceOf<Row extends object>(row: Row, wanted: Partial<Row>) {
  const names = (Object.keys(wanted) as (keyof Row & string)[]).filter(
    (name) => wanted[name] !== row[name],
  )
  if (names.length === 0) return undefined
  const pick = (from: Partial<Row>) =>
    Object.fromEntries(names.map((name) => [name, from[name]])) as Columns<Row>
  return { before: pick(row), after: pick(wanted) }
}
