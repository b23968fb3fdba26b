/** What people allowed: the grants, their use and their end. Tokens are not known here. */

import type { Transaction } from 'kysely'

import { findScope } from '../../directory/scopes/catalogue.ts'
import type { ChangeAction } from '../../platform/audit/audit-actions.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type Allowed, allowedByEither } from './allowed.ts'
import { type EndedGrant, type Ending, type EndReason, endGrantRows } from './end-grants.ts'

/**
 * Grants: what a person allowed a client, one row each in every deployment (design 30). This folder
 * owns that row, the question whether it may still be used (`access.ts`), its use and its lists. The
 * engine's Grant model is served from it, and who writes one is `authorization/`.
 *
 * Ending a grant is a mark on its row, effective at once in every process: each use of a code or
 * token asks for the row, so that none that is being issued at the same time slips through.
 */
export interface NewGrant {
  readonly id: string
  readonly personId: string
  readonly clientId: string
  /** As they were at the consent, for a client that has no row or loses it. */
  readonly clientName: string
  readonly clientOrigin: string
  /** The site that the grant is for; undefined for a plain sign-in. */
  readonly siteId: string | undefined
  /** Of the metadata document that the person agreed to; undefined for any other client. */
  readonly documentFingerprint: string | undefined
  readonly allowed: Allowed
}

export interface GrantStore {
  /**
   * Writes a new grant, or adds to what is allowed in one that has not ended meanwhile, with its line in
   * the audit trail.
   */
  save(grant: NewGrant, by?: Caller): Promise<void>
  /** Moves the end of a grant on, when there is a day to gain: most requests need not write. */
  prolong(grant: { readonly id: string; readonly expiresAt: number }): Promise<void>
  /**
   * Ends grants, with a line in the audit trail where it was a client that did something: what people do
   * is written by whoever ends the grants for them.
   *
   * @returns the ids of the grants that ended
   */
  end(ending: Ending, reason: EndReason, by?: Caller): Promise<readonly string[]>
}

/** The request in which a grant is made or ended. */
export type Caller = Pick<Actor, 'requestId' | 'address'>

/** What a client does that ends a grant, and what the audit trail calls it. */
const endedByClient: { readonly [Reason in EndReason]?: { readonly action: ChangeAction } } = {
  'the client revoked it': { action: 'grant.revoked' },
  'a code was used twice': { action: 'code.reused' },
  'a used refresh token came back': { action: 'refresh_token.reused' },
}

/** How many days back calls are counted. */
export const CALL_DAYS = 30

const DAY_MS = 86_400_000

/** The day of a time, as `oauth_grant_day.day` has it. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

export interface GrantStoreDependencies {
  readonly database: Database
  /** How long a grant lives from its last consent or sign-in: longer than any token made of it. */
  readonly grantSeconds: number
  readonly now: () => number
}

export function makeGrantStore({
  database,
  grantSeconds,
  now,
}: GrantStoreDependencies): GrantStore {
  const { kysely } = database
  const expiry = () => now() + grantSeconds * 1000
  return {
    save: async (grant, by) =>
      await kysely.transaction().execute(async (trx) => {
        const nowMs = now()
        await saveRow(trx, grant, { nowMs, expiresAt: expiry() })
        const scopes = await saveScopes(trx, grant)
        const { personId, clientId, clientName, clientOrigin } = grant
        await recordAuditEvent(
          trx,
          { ...by, personId, clientId, now: nowMs },
          {
            action: 'consent.given',
            subject: { kind: 'application', id: clientId },
            siteId: grant.siteId,
            after: { name: clientName, origin: clientOrigin, scopes },
          },
        )
      }),

    async prolong({ id, expiresAt }) {
      const full = expiry()
      if (expiresAt > full - DAY_MS) return
      await kysely
        .updateTable('oauth_grant')
        .set({ expires_at: full })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
    },

    end: async (ending, reason, by) =>
      await kysely.transaction().execute(async (trx) => {
        const nowMs = now()
        const ended = await endGrantRows(trx, ending, { reason, nowMs })
        for (const grant of ended) await recordEnd(trx, grant, { reason, by, nowMs })
        return ended.map(({ id }) => id)
      }),
  }
}

interface EndedBy {
  readonly reason: EndReason
  readonly by: Caller | undefined
  readonly nowMs: number
}

/** The client did something, and the access of a person ended. */
async function recordEnd(
  trx: Transaction<Schema>,
  grant: EndedGrant,
  { reason, by, nowMs }: EndedBy,
): Promise<void> {
  const change = endedByClient[reason]
  if (!change) return
  await recordAuditEvent(
    trx,
    { ...by, clientId: grant.client_id, now: nowMs },
    {
      ...change,
      subject: { kind: 'application', id: grant.client_id },
      siteId: grant.site_id ?? undefined,
      personId: grant.person_id,
      reason,
      after: { grants: 0 },
    },
  )
}

/**
 * Writes the row, or adds to what is allowed in it: two pages of one browser may consent at the same
 * moment, and neither takes back what the other was given.
 */
async function saveRow(
  trx: Transaction<Schema>,
  grant: NewGrant,
  { nowMs, expiresAt }: { readonly nowMs: number; readonly expiresAt: number },
): Promise<void> {
  // The write comes first, so that a second transaction waits here for the row.
  const known = await trx
    .updateTable('oauth_grant')
    .set({ expires_at: expiresAt })
    .where('id', '=', grant.id)
    .where('ended_at', 'is', null)
    .returning('allowed')
    .executeTakeFirst()
  if (known) {
    const allowed = allowedByEither(JSON.parse(known.allowed), grant.allowed)
    await trx
      .updateTable('oauth_grant')
      .set({ allowed: JSON.stringify(allowed) })
      .where('id', '=', grant.id)
      .execute()
    return
  }
  await trx
    .insertInto('oauth_grant')
    .values({
      id: grant.id,
      person_id: grant.personId,
      client_id: grant.clientId,
      client_name: grant.clientName,
      client_origin: grant.clientOrigin,
      site_id: grant.siteId ?? null,
      document_fingerprint: grant.documentFingerprint ?? null,
      allowed: JSON.stringify(grant.allowed),
      granted_at: nowMs,
      expires_at: expiresAt,
    })
    // A grant that somebody ended meanwhile stays ended.
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function saveScopes(
  trx: Transaction<Schema>,
  { id, allowed }: NewGrant,
): Promise<readonly string[]> {
  const { openid, resources } = allowed
  const named = [openid?.scope ?? '', ...Object.values(resources ?? {})].join(' ').split(' ')
  const scopes = [...new Set(named)].filter((name) => findScope(name))
  if (scopes.length === 0) return scopes
  await trx
    .insertInto('oauth_grant_scope')
    .values(scopes.map((scope) => ({ grant_id: id, scope })))
    .onConflict((conflict) => conflict.columns(['grant_id', 'scope']).doNothing())
    .execute()
  return scopes
}
