import type { Kysely } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { writeSetting } from '../../platform/store/settings.ts'

/** The grants to end. */
export type Ending =
  | 'everything'
  | { readonly id: string }
  /** All grants of a person to one client at one site, or without a site. */
  | { readonly personId: string; readonly clientId: string; readonly siteId: string | undefined }
  /** All grants that a person gave by this time (epoch milliseconds), at any site. */
  | { readonly personId: string; readonly grantedUntil: number }
  /** All grants of a person at one site, to any client. */
  | { readonly personId: string; readonly siteId: string }
  /** All grants to a client, from one person or from all. */
  | { readonly clientId: string; readonly personId?: string }
  /** All grants to a client that include at least one of these scopes. */
  | { readonly clientId: string; readonly withScopes: readonly string[] }

/** Why a grant ended, as stored in `oauth_grant.end_reason`. */
export type EndReason =
  | 'the person removed it'
  | 'the person set a new password'
  | 'an operator ended it'
  | 'the platform ended it'
  | 'the application was deleted'
  | 'a scope was removed from the application'
  | 'the client revoked it'
  | 'the person deleted the account'
  | 'a code was used twice'
  | 'a replaced refresh token was used again'
  | 'the database was restored from a backup'

/** Maximum number of rows per statement. An application may have too many grants for one statement's time limit. */
const BATCH_ROWS_MAX = 1000

interface EndedFor {
  readonly reason: EndReason
  readonly nowMs: number
}

/** Ends the selected grants. @returns the ids of those that had neither ended nor expired before */
export async function endGrants(
  kysely: Kysely<Schema>,
  ending: Ending,
  because: EndedFor,
): Promise<string[]> {
  return (await endGrantRows(kysely, ending, because)).map(({ id }) => id)
}

/** Like `endGrants`, but also returns the person, client and site of each grant. */
export async function endGrantRows(
  kysely: Kysely<Schema>,
  ending: Ending,
  { reason, nowMs }: EndedFor,
) {
  const ended: Pick<Schema['oauth_grant'], 'id' | 'person_id' | 'client_id' | 'site_id'>[] = []
  for (;;) {
    const next = isOne(ending) ? [ending.id] : await endingNext(kysely, ending, nowMs)
    if (next.length === 0) return ended
    // A grant that has ended since the query keeps its reason.
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

async function endingNext(
  kysely: Kysely<Schema>,
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
 * Ends all grants of a person to a client at one site, or without a site. Records an audit event if any grants ended.
 *
 * @returns the ids of the grants that ended
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

/** The outcome of `endEverything`. */
export interface Ended {
  /** Number of live grants that ended. */
  readonly grants: number
  /** Number of sessions, pending sign-ins, codes, one-time links and other records removed from the database. */
  readonly records: number
}

/**
 * Ends all grants with their codes and tokens, ends every browser session, and records an audit event. Needed after a
 * restore, because the backup lacks all later uses, revocations and sign-outs. People must sign in and consent again.
 * Call it before any process accepts requests. If it fails, call it again: every step can be repeated.
 *
 * @param nowMs epoch milliseconds, by the clock of the database (`withDatabase`)
 */
export async function endEverything(database: Database, nowMs: number): Promise<Ended> {
  const { kysely } = database
  // Write this setting first: it ends every session, even those in Redis, and invalidates all earlier proofs.
  await writeSetting(kysely, EVERYTHING_ENDED, String(nowMs), nowMs)
  const reason = 'the database was restored from a backup'
  const grants = (await endGrants(kysely, 'everything', { reason, nowMs })).length
  const { numDeletedRows: links } = await kysely
    .deleteFrom('one_time_link')
    .executeTakeFirstOrThrow()
  const records = Number(links) + (await removeRecords(database))
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

/** Removes all records of the state store from the database, except self-registered clients. */
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
