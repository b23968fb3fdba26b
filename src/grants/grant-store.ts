/** What people allowed: the grants, their use and their end. Tokens are not known here. */

import type { Kysely, Transaction } from 'kysely'

import { findScope } from '../scopes/catalogue.ts'
import type { Database } from '../store/database.ts'
import type { Schema } from '../store/schema.ts'

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

/** What the engine keeps of a grant: scopes by resource, claims, and what was refused. */
export interface Allowed {
  readonly openid?: { readonly scope?: string; readonly claims?: readonly string[] }
  readonly resources?: Readonly<Record<string, string>>
  readonly rejected?: Pick<Allowed, 'openid' | 'resources'>
}

/** Which grants to end. */
export type Ending =
  | { readonly id: string }
  /** All of a person with one client at one site, or without a site. */
  | { readonly personId: string; readonly clientId: string; readonly siteId: string | undefined }
  /** All that a client has, of one person or of everybody. */
  | { readonly clientId: string; readonly personId?: string }
  /** All of a client that hold a scope which it may not have any more. */
  | { readonly clientId: string; readonly withScopes: readonly string[] }

/** Why a grant ended, for the log. */
export type EndReason =
  | 'the person removed it'
  | 'an operator ended it'
  | 'the application was deleted'
  | 'a scope of it was taken from the application'
  | 'the client revoked it'
  | 'a code was used twice'
  | 'a used refresh token came back'

export interface GrantStore {
  /**
   * Writes a new grant, or what is allowed in one that goes on and has not ended meanwhile.
   *
   */
  save(grant: NewGrant): Promise<void>
  /** Moves the end of a grant on, when there is a day to gain: most requests need not write. */
  prolong(grant: { readonly id: string; readonly expiresAt: number }): Promise<void>
  /** Takes over what the version before kept of a grant outside of the database. */
  adopt(id: string, allowed: Allowed): Promise<void>
  /** Writes down that a code exchange began a family of refresh tokens. */
  beginFamily(grantId: string, familyId: string): Promise<void>
  /** @returns the ids of the grants that ended */
  end(ending: Ending, reason: EndReason): Promise<readonly string[]>
  /** Removes a batch of grants that expired, and counts that nobody is shown any more. */
  prune(): Promise<void>
}

/** How many days back calls are counted. */
export const CALL_DAYS = 30

const DAY_MS = 86_400_000
// Small enough for the time limit of a statement.
const PRUNED_ROWS_MAX = 1000

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
    save: async (grant) =>
      await kysely.transaction().execute(async (trx) => {
        await saveRow(trx, grant, { nowMs: now(), expiresAt: expiry() })
        await saveScopes(trx, grant)
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

    async adopt(id, allowed) {
      await kysely
        .updateTable('oauth_grant')
        .set({ allowed: JSON.stringify(allowed) })
        .where('id', '=', id)
        .where('allowed', 'is', null)
        .where('ended_at', 'is', null)
        .execute()
    },

    async beginFamily(grantId, familyId) {
      await kysely
        .insertInto('refresh_token_family')
        .values({ id: familyId, grant_id: grantId, started_at: now() })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    end: async (ending, reason) => await endGrants(kysely, ending, { reason, nowMs: now() }),

    async prune() {
      await kysely
        .deleteFrom('oauth_grant_day')
        .where('day', '<=', dayOf(now()) - CALL_DAYS)
        .execute()
      await kysely
        .deleteFrom('oauth_grant')
        .where('id', 'in', (q) =>
          q
            .selectFrom('oauth_grant')
            .select('id')
            .where('expires_at', '<=', now())
            .limit(PRUNED_ROWS_MAX),
        )
        .execute()
    },
  }
}

/**
 * Ends grants, in the transaction of whoever changes something else with them.
 *
 * @returns the ids of the grants that ended
 */
export async function endGrants(
  kysely: Kysely<Schema> | Transaction<Schema>,
  ending: Ending,
  { reason, nowMs }: { readonly reason: EndReason; readonly nowMs: number },
): Promise<string[]> {
  let query = kysely
    .updateTable('oauth_grant')
    .set({ ended_at: nowMs, end_reason: reason })
    .where('ended_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returning('id')
  if ('id' in ending) query = query.where('id', '=', ending.id)
  else query = query.where('client_id', '=', ending.clientId)
  if ('personId' in ending) query = query.where('person_id', '=', ending.personId)
  if ('siteId' in ending) {
    const { siteId } = ending
    query = query.where('site_id', siteId === undefined ? 'is' : '=', siteId ?? null)
  }
  if ('withScopes' in ending) {
    const { withScopes } = ending
    query = query.where('id', 'in', (q) =>
      q.selectFrom('oauth_grant_scope').select('grant_id').where('scope', 'in', withScopes),
    )
  }
  const rows = await query.execute()
  return rows.map(({ id }) => id)
}

async function saveRow(
  trx: Transaction<Schema>,
  grant: NewGrant,
  { nowMs, expiresAt }: { readonly nowMs: number; readonly expiresAt: number },
): Promise<void> {
  const allowed = JSON.stringify(grant.allowed)
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
      allowed,
      granted_at: nowMs,
      expires_at: expiresAt,
    })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ allowed, expires_at: expiresAt })
        // A grant that somebody ended meanwhile stays ended.
        .where('oauth_grant.ended_at', 'is', null),
    )
    .execute()
}

async function saveScopes(trx: Transaction<Schema>, { id, allowed }: NewGrant): Promise<void> {
  const { openid, resources } = allowed
  const named = [openid?.scope ?? '', ...Object.values(resources ?? {})].join(' ').split(' ')
  const scopes = [...new Set(named)].filter((name) => findScope(name))
  if (scopes.length === 0) return
  await trx
    .insertInto('oauth_grant_scope')
    .values(scopes.map((scope) => ({ grant_id: id, scope })))
    .onConflict((conflict) => conflict.columns(['grant_id', 'scope']).doNothing())
    .execute()
}
