import { STALE_MS } from '../../oauth/clients/document-clients.ts'
import { CALL_DAYS, dayOf } from '../../oauth/grants/grant-store.ts'
import type { ExpiringRows } from '../../platform/store/remove-expired.ts'

/** One kind of rows that go, and when. */
export type Expiring = ExpiringRows & {
  /** The last value of the expiry that is over at this time. */
  readonly until: (nowMs: number) => number
  /** As many as one statement removes: with all that goes with them, about a thousand rows. */
  readonly rowsMax: number
  /** Tables below this one. They come first, so that little is left to go with a row. */
  readonly after?: readonly ExpiringRows['table'][]
}

export interface Keeping {
  /** How long what was issued to a client can live; the copy of its document is needed as long. */
  readonly tokensLiveSeconds: number
  /** How long the audit trail is kept. */
  readonly auditDays: number
}

const DAY_MS = 86_400_000

/** Everything that is removed because its time is over; docs/operations.md has the same table. */
export function whatExpires({ tokensLiveSeconds, auditDays }: Keeping): readonly Expiring[] {
  const now = (nowMs: number) => nowMs
  return [
    { table: 'oauth_state', expiry: 'expires_at', until: now, rowsMax: 1000 },
    { table: 'refresh_token_family', expiry: 'kept_until', until: now, rowsMax: 1000 },
    { table: 'relying_party_session', expiry: 'expires_at', until: now, rowsMax: 1000 },
    // Five tries are over long before, unless a host is away that very many notices wait for.
    {
      table: 'sign_out_notice',
      expiry: 'next_attempt_at',
      until: (nowMs) => nowMs - DAY_MS,
      rowsMax: 1000,
    },
    { table: 'signed_out_session', expiry: 'kept_until', until: now, rowsMax: 1000 },
    { table: 'change_key', expiry: 'expires_at', until: now, rowsMax: 1000 },
    { table: 'unused_client', expiry: 'expires_at', until: now, rowsMax: 1000 },
    { table: 'request_count', expiry: 'ends_at', until: now, rowsMax: 1000 },
    { table: 'platform_callback', expiry: 'expires_at', until: now, rowsMax: 1000 },
    {
      table: 'audit_event',
      expiry: 'occurred_at',
      until: (nowMs) => nowMs - auditDays * DAY_MS,
      rowsMax: 500,
    },
    {
      table: 'site_refusal_day',
      expiry: 'day',
      until: (nowMs) => dayOf(nowMs) - CALL_DAYS,
      rowsMax: 1000,
    },
    {
      table: 'oauth_grant_day',
      expiry: 'day',
      until: (nowMs) => dayOf(nowMs) - CALL_DAYS,
      rowsMax: 1000,
    },
    {
      // With each go its scopes and the last days of its use.
      table: 'oauth_grant',
      expiry: 'expires_at',
      until: now,
      rowsMax: 16,
      after: ['refresh_token_family', 'relying_party_session', 'oauth_grant_day'],
    },
    {
      // Every authorization request can add a row, and these were not reviewed.
      table: 'document_client',
      expiry: 'fetched_at',
      unset: 'review',
      until: (nowMs) => nowMs - STALE_MS - tokensLiveSeconds * 1000 - 1,
      rowsMax: 500,
    },
  ]
}
