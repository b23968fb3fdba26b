import type { Kysely, Transaction } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'
import type { Schema } from '../../platform/store/schema.ts'

/** Which grants to end. */
export type Ending =
  /** All that there are, after a backup was restored. */
  | 'everything'
  | { readonly id: string }
  /** All of a person with one client at one site, or without a site. */
  | { readonly personId: string; readonly clientId: string; readonly siteId: string | undefined }
  /** All that a person granted until a time, in epoch milliseconds, wherever. */
  | { readonly personId: string; readonly grantedUntil: number }
  /** All of a person at one site, with whatever client. */
  | { readonly personId: string; readonly siteId: string }
  /** All that a client has, of one person or of everybody. */
  | { readonly clientId: string; readonly personId?: string }
  /** All of a client that hold a scope which it may not have any more. */
  | { readonly clientId: string; readonly withScopes: readonly string[] }

/** Why a grant ended, for the log. */
export type EndReason =
  | 'the person removed it'
  | 'an operator ended it'
  | 'the platform ended it'
  | 'the application was deleted'
  | 'a scope of it was taken from the application'
  | 'the client revoked it'
  | 'a code was used twice'
  | 'a used refresh token came back'
  | 'the database was restored from a backup'

/** As many rows as one statement changes or removes, within its time limit. */
const BATCH_ROWS_MAX = 1000

/**
 * Ends grants, in the transaction of whoever changes something else with them: a batch a statement,
 * because an application may have very many.
 *
 * @returns the ids of the grants that ended
 */
export async function endGrants(
  kysely: Kysely<Schema> | Transaction<Schema>,
  ending: Ending,
  { reason, nowMs }: { readonly reason: EndReason; readonly nowMs: number },
): Promise<string[]> {
  return (await endGrantRows(kysely, ending, { reason, nowMs })).map(({ id }) => id)
}

/** The same, with whose each grant was. */
export async function endGrantRows(
  kysely: Kysely<Schema> | Transaction<Schema>,
  ending: Ending,
  { reason, nowMs }: { readonly reason: EndReason; readonly nowMs: number },
): Promise<EndedGrant[]> {
  const ended: EndedGrant[] = []
  for (;;) {
    const next = isOne(ending) ? [ending.id] : await endingNext(kysely, ending, nowMs)
    if (next.length === 0) return ended
    // Somebody else may have ended some of them meanwhile; their reason stays.
    const rows = await kysely
      .updateTable('oauth_grant')
      .set({ ended_at: nowMs, end_reason: reason })
      .where('id', 'in', next)
      .where('ended_at', 'is', null)
      .where('expires_at', '>', nowMs)
      .returning(['id', 'person_id', 'client_id', 'site_id'])
      .execute()
    ended.push(...rows)
    if (next.length < BATCH_ROWS_MAX) return ended
  }
}

function isOne(ending: Ending): ending is { readonly id: string } {
  return ending !== 'everything' && 'id' in ending
}

export type EndedGrant = Pick<Schema['oauth_grant'], 'id' | 'person_id' | 'client_id' | 'site_id'>

async function endingNext(
  kysely: Kysely<Schema> | Transaction<Schema>,
  ending: Exclude<Ending, { readonly id: string }>,
  nowMs: number,
): Promise<string[]> {
  let query = kysely
    .selectFrom('oauth_grant as g')
    .select('g.id')
    .where('g.ended_at', 'is', null)
    .where('g.expires_at', '>', nowMs)
    .limit(BATCH_ROWS_MAX)
  if (ending === 'everything') return (await query.execute()).map(({ id }) => id)
  if ('clientId' in ending) query = query.where('g.client_id', '=', ending.clientId)
  if ('personId' in ending) query = query.where('g.person_id', '=', ending.personId)
  if ('grantedUntil' in ending) query = query.where('g.granted_at', '<=', ending.grantedUntil)
  if ('siteId' in ending) {
    const { siteId } = ending
    query = query.where('g.site_id', siteId === undefined ? 'is' : '=', siteId ?? null)
  }
  if ('withScopes' in ending) {
    const { withScopes } = ending
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('oauth_grant_scope as s')
          .select('s.scope')
          .whereRef('s.grant_id', '=', 'g.id')
          .where('s.scope', 'in', withScopes),
      ),
    )
  }
  const rows = await query.execute()
  return rows.map(({ id }) => id)
}

/**
 * A person takes back what they allowed: every grant of theirs to this client at this site,
 * from whatever browser, with a line in the audit trail.
 *
 * @returns the grants that ended; none when there was nothing to take back
 */
export async function removeApp(
  { kysely }: Database,
  line: {
    readonly personId: string
    readonly clientId: string
    readonly siteId: string | undefined
  },
  actor: Actor,
): Promise<readonly string[]> {
  return await kysely.transaction().execute(async (trx) => {
    const ended = await endGrants(trx, line, { reason: 'the person removed it', nowMs: actor.now })
    if (ended.length === 0) return ended
    await recordAuditEvent(trx, actor, {
      action: 'grant.remove',
      subject: { kind: 'application', id: line.clientId },
      siteId: line.siteId,
      before: { grants: ended.length },
      after: { grants: 0 },
    })
    return ended
  })
}

/** What ended with everything. */
export interface Ended {
  /** Grants that were alive. Tokens of grants that this database does not know are worth nothing anyway. */
  readonly grants: number
  /** Records of sessions, sign-ins that had begun, and codes; those of Redis end by the time that is set. */
  readonly records: number
}

/**
 * Ends all grants, with every code and token of them, and every session of a browser that began until now:
 * what a database needs that was restored from a backup, in which what was used, revoked and signed out since
 * is as it was before. People sign in and allow again; applications and what people bought are untouched.
 *
 * Call it before any process serves, by the clock of the database (`withDatabase` of a command gives it). Each
 * step can be repeated, so that after a failure it is called again. One audit event says that it happened.
 *
 * @param nowMs epoch milliseconds
 */
export async function endEverything(database: Database, nowMs: number): Promise<Ended> {
  const { kysely } = database
  const value = String(nowMs)
  // First, because it alone already ends every session, and all proofs that were made before.
  await kysely
    .insertInto('setting')
    .values({ name: EVERYTHING_ENDED, value, updated_at: nowMs })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, updated_at: nowMs }))
    .execute()
  const reason = 'the database was restored from a backup'
  const grants = (await endGrants(kysely, 'everything', { reason, nowMs })).length
  const records = await removeRecords(database)
  await recordAuditEvent(
    kysely,
    { now: nowMs },
    {
      action: 'grants.end_everything',
      subject: { kind: 'service', id: 'all grants and sessions' },
      siteId: undefined,
      after: { grants, records },
    },
  )
  return { grants, records }
}

/** The records of the engine that are in the database; self-registered clients stay what they are. */
async function removeRecords({ kysely }: Database): Promise<number> {
  let removed = 0
  for (;;) {
    const rows = await kysely
      .selectFrom('oauth_state')
      .select(['model', 'id'])
      .where('model', '<>', 'Client')
      .limit(BATCH_ROWS_MAX)
      .execute()
    if (rows.length === 0) return removed
    for (const model of new Set(rows.map((row) => row.model))) {
      const ids = rows.filter((row) => row.model === model).map(({ id }) => id)
      const { numDeletedRows } = await kysely
        .deleteFrom('oauth_state')
        .where('model', '=', model)
        .where('id', 'in', ids)
        .executeTakeFirstOrThrow()
      removed += Number(numDeletedRows)
    }
  }
}
