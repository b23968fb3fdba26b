import { type Kysely, sql } from 'kysely'

import {
  type Actor,
  type KnownActor,
  recordAuditEvent,
} from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { writeSetting } from '../../platform/store/settings.ts'

/** A connected app: all of a person's grants to one client at one site, or without a site. */
export interface AppLine {
  readonly personId: string
  readonly clientId: string
  readonly siteId: string | undefined
}

/** The grants to end. */
export type Ending =
  | 'everything'
  | { readonly id: string }
  | AppLine
  /** All grants that a person gave by this time (epoch milliseconds), at any site or none. */
  | { readonly personId: string; readonly grantedUntil: number }
  | { readonly personId: string; readonly siteId: string }
  | { readonly clientId: string; readonly personId?: string }
  /** All grants to a client that include at least one of these scopes. */
  | { readonly clientId: string; readonly withScopes: readonly string[] }
  /**
   * These people's grants to operator applications at sites that they do not own. `judgeAccess` already rejects such a
   * grant, but would accept it if the person became an owner again.
   */
  | { readonly formerOwners: readonly string[] }

/** Why a grant ended, as stored in `oauth_grant.end_reason`. */
export type EndReason =
  | 'the person removed it'
  | 'the person set a new password'
  | 'an operator ended it'
  | 'the platform ended it'
  | 'the application was deleted'
  | 'a scope was removed from the application'
  | 'the person is no longer an owner of the site'
  | 'the client revoked it'
  | 'the person deleted the account'
  | 'a code was used twice'
  | 'a replaced refresh token was used again'
  | 'the database was restored from a backup'

/** The maximum number of rows per statement. An application may have too many grants for one statement's time limit. */
const BATCH_ROWS_MAX = 1000

/**
 * Ends grants, and records an audit event for each ended grant at a site.
 *
 * @returns how many grants ended
 */
export async function endGrantsWithEvents(
  kysely: Kysely<Schema>,
  ending: Ending,
  reason: EndReason,
  actor: KnownActor,
): Promise<number> {
  const ended = await endGrants(kysely, ending, { reason, nowMs: actor.now })
  for (const { person_id: personId, client_id: id, site_id: siteId } of ended) {
    if (siteId === null) continue
    const change = { subject: { kind: 'application', id }, siteId, personId, reason }
    await recordAuditEvent(kysely, actor, { action: 'grant.end', ...change })
  }
  return ended.length
}

/** Ends the selected grants that are still live, and returns them. The caller must record the audit events. */
export async function endGrants(
  kysely: Kysely<Schema>,
  ending: Ending,
  { reason, nowMs }: Readonly<{ reason: EndReason; nowMs: number }>,
) {
  const ended: Pick<Schema['oauth_grant'], 'id' | 'person_id' | 'client_id' | 'site_id'>[] = []
  for (;;) {
    const next = await grantsOf(kysely, ending)
      .where('g.ended_at', 'is', null)
      .where('g.expires_at', '>', nowMs)
      .limit(BATCH_ROWS_MAX)
      .execute()
    if (next.length === 0) return ended
    const ids = next.map(({ id }) => id)
    // A grant that has ended since the query keeps its original end reason.
    const rows = await kysely
      .updateTable('oauth_grant')
      .set({ ended_at: nowMs, end_reason: reason })
      .where('id', 'in', ids)
      .where('ended_at', 'is', null)
      .where('expires_at', '>', nowMs)
      .returning(['id', 'person_id', 'client_id', 'site_id'])
      .execute()
    ended.push(...rows)
    if (next.length < BATCH_ROWS_MAX) return ended
  }
}

function grantsOf(kysely: Kysely<Schema>, ending: Ending) {
  let query = kysely.selectFrom('oauth_grant as g').select('g.id')
  if (ending === 'everything') return query
  if ('id' in ending) query = query.where('g.id', '=', ending.id)
  if ('clientId' in ending) query = query.where('g.client_id', '=', ending.clientId)
  if ('personId' in ending) query = query.where('g.person_id', '=', ending.personId)
  if ('grantedUntil' in ending) query = query.where('g.granted_at', '<=', ending.grantedUntil)
  if ('siteId' in ending) {
    const { siteId } = ending
    query = query.where('g.site_id', siteId === undefined ? 'is' : '=', siteId ?? null)
  }
  if ('formerOwners' in ending) {
    query = query
      .where('g.person_id', 'in', ending.formerOwners)
      .where('g.client_origin', '=', 'operator')
      .where(sql<boolean>`not exists (select 1
        from site_role r where r.person_id = g.person_id and r.site_id = g.site_id and r.role = 'owner')`)
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
  return query
}

/**
 * Ends all of a person's grants to a client at one site, or without a site. Records an audit event if any grants ended.
 *
 * @returns the grants that ended
 */
export async function removeApp({ kysely }: Database, line: AppLine, actor: Actor) {
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

/**
 * Ends all grants, codes, tokens and browser sessions. Deletes one-time links and recovery codes. Call it after a
 * restore, because the backup lacks later sign-outs, revocations and uses of codes. Call it before any process accepts
 * requests, and repeat the call if it fails. People must sign in and consent again. Records one audit event instead of
 * one per grant. Webhook receivers must resynchronize all data, because a restore undoes changes but sends no events.
 *
 * @param nowMs epoch milliseconds, from the clock of the database (`withDatabase`)
 * @returns how many live grants ended, and how many links and state records, such as sessions and codes, were deleted
 */
export async function endEverything({ kysely }: Database, nowMs: number) {
  // Write this first. It ends every session, even in Redis. Without Redis, it also invalidates all earlier DPoP proofs.
  await writeSetting(kysely, EVERYTHING_ENDED, String(nowMs), nowMs)
  const reason = 'the database was restored from a backup'
  const grants = (await endGrants(kysely, 'everything', { reason, nowMs })).length
  const { numDeletedRows: links } = await kysely
    .deleteFrom('one_time_link')
    .executeTakeFirstOrThrow()
  // Recovery codes and authenticator codes that were used since the backup must not work again.
  await kysely.deleteFrom('recovery_code').execute()
  const last_step = Math.floor(nowMs / TOTP_STEP_MS) + 1
  await kysely.updateTable('totp').set({ last_step }).execute()
  const records = Number(links) + (await removeRecords(kysely))
  const byCommand = { now: nowMs }
  await recordAuditEvent(kysely, byCommand, {
    action: 'grants.end_everything',
    subject: { kind: 'service', id: 'all grants and sessions' },
    siteId: undefined,
    after: { grants, records },
  })
  return { grants, records }
}

const TOTP_STEP_MS = 30_000

/** Removes all records of the state store from the database, except loopback clients. */
async function removeRecords(kysely: Database['kysely']): Promise<number> {
  let removed = 0
  const next = kysely
    .selectFrom('oauth_state')
    .select(['model', 'id'])
    .where('model', '<>', 'Client')
    .limit(BATCH_ROWS_MAX)
  for (;;) {
    const { numDeletedRows } = await kysely
      .deleteFrom('oauth_state')
      .where(({ eb, refTuple }) => eb(refTuple('model', 'id'), 'in', next.$asTuple('model', 'id')))
      .executeTakeFirstOrThrow()
    if (numDeletedRows === 0n) return removed
    removed += Number(numDeletedRows)
  }
}
