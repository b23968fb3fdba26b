/** Stores grants: what each client may access, when the grant expires, and why it ended. */

import type { Transaction } from 'kysely'

import type { Notices } from '../../directory/mail/notices.ts'
import { findScope } from '../../directory/scopes/catalogue.ts'
import type { ChangeAction } from '../../platform/audit/audit-actions.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { allowedByEither } from './allowed-scopes.ts'
import { type EndReason, endGrants } from './end-grants.ts'
import type { Grant } from './judge-access.ts'

/**
 * A grant to store, as one row (design 30). The engine's Grant model is built from the row
 * (authorization/engine-adapter.ts). Ending a grant marks the row. This takes effect at once in every process, because
 * each use of a code or token reads the row. So even a token that is issued at the same moment is rejected.
 */
export interface NewGrant extends Omit<Grant, 'grantedAt' | 'expiresAt' | 'endedBecause'> {
  /** The client's name when the person consented, in case the client is removed later. */
  readonly clientName: string
}

/** The request that creates or ends a grant, for the audit trail. */
export type Caller = Pick<Actor, 'requestId' | 'address'>

/** Audit actions for grants that end because of a client's request, by end reason. */
const endedByClient = {
  'the client revoked it': { action: 'grant.revoked' },
  'a code was used twice': { action: 'code.reused' },
  'a replaced refresh token was used again': { action: 'refresh_token.reused' },
} as const satisfies { readonly [Reason in EndReason]?: { readonly action: ChangeAction } }

/** The number of days for which daily counts are kept. The longest analytics overview covers all of them. */
export const COUNT_DAYS = 90
/** The number of days for which the lists of connected apps and people count calls. */
export const CALL_DAYS = 30

const DAY_MS = 86_400_000

/** Converts a time to the number of days since the epoch, as in `oauth_grant_day.day`. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

/** Creates the store of grants. @param grantSeconds lifetime of a grant after it is given or extended */
export function makeGrantStore(
  { kysely }: Database,
  grantSeconds: number,
  now: () => number,
  noteNewApp: Notices['newApp'] = async () => {},
) {
  const expiry = () => now() + grantSeconds * 1000
  return {
    /**
     * Stores a new grant, or adds the consent to an existing grant and extends the grant. Records an audit event, and
     * queues a notice of a new grant unless it is for our own pages. No-op for an ended grant.
     */
    save: async (grant: NewGrant, by?: Caller): Promise<void> =>
      await kysely.transaction().execute(async (trx) => {
        const nowMs = now()
        const saved = await saveRow(trx, grant, { nowMs, expiresAt: expiry() })
        if (saved === 'ended') return
        if (saved === 'new' && grant.clientOrigin !== 'first_party')
          await noteNewApp(trx, grant, nowMs)
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

    /**
     * Extends a grant that has not ended. Skips the write if the grant would gain less than a day.
     *
     * @param isEndless whether to keep its families and sessions as long as the grant
     */
    async prolong(
      { id, expiresAt }: Pick<Grant, 'id' | 'expiresAt'>,
      isEndless = false,
    ): Promise<void> {
      const full = expiry()
      if (expiresAt > full - DAY_MS) return
      await kysely
        .updateTable('oauth_grant')
        .set({ expires_at: full })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
      if (!isEndless) return
      await kysely
        .updateTable('refresh_token_family')
        .set({ kept_until: full })
        .where('grant_id', '=', id)
        .execute()
      await kysely
        .updateTable('relying_party_session')
        .set({ expires_at: full })
        .where('grant_id', '=', id)
        .execute()
    },

    /** Ends a grant because of a client's request, and audits it. No-op if the grant has ended or expired. */
    end: async (id: string, reason: keyof typeof endedByClient, by?: Caller): Promise<void> =>
      await kysely.transaction().execute(async (trx) => {
        const nowMs = now()
        const [ended] = await endGrants(trx, { id }, { reason, nowMs })
        if (!ended) return
        const { client_id: clientId, site_id, person_id: personId } = ended
        await recordAuditEvent(
          trx,
          { ...by, clientId, now: nowMs },
          {
            ...endedByClient[reason],
            subject: { kind: 'application', id: clientId },
            siteId: site_id ?? undefined,
            personId,
            reason,
            after: { grants: 0 },
          },
        )
      }),
  }
}

/**
 * Inserts a new grant, or adds the consent to an existing grant and extends the grant. If a person submits two consent
 * pages at the same moment, both consents count. Does not change a grant that has ended.
 */
async function saveRow(
  trx: Transaction<Schema>,
  grant: NewGrant,
  { nowMs, expiresAt }: { readonly nowMs: number; readonly expiresAt: number },
): Promise<'new' | 'extended' | 'ended'> {
  // Write before reading `allowed`, to make a concurrent transaction wait for this row.
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
    return 'extended'
  }
  const isNew = await insertNew(trx, 'oauth_grant', {
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
  return isNew ? 'new' : 'ended'
}

async function saveScopes(trx: Transaction<Schema>, { id, allowed }: NewGrant): Promise<string[]> {
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
