/** The tables of grants and of who signed out; `schema.ts` has the rules that they follow too. */

export interface GrantTables {
  oauth_grant: {
    id: string
    person_id: string
    client_id: string
    client_name: string
    client_origin: string
    site_id: string | null
    document_fingerprint: string | null
    allowed: string | null
    granted_at: number
    expires_at: number
    ended_at: number | null
    end_reason: string | null
    last_used_at: number | null
  }
  oauth_grant_scope: {
    grant_id: string
    scope: string
  }
  oauth_grant_day: {
    grant_id: string
    day: number
    calls: number
  }
  refresh_token_family: {
    id: string
    grant_id: string
    seed: string
    token: string
    generation: number
    steps: string
    started_at: number
    kept_until: number
    ended_at: number | null
  }
  relying_party_session: {
    family_id: string
    grant_id: string
    client_id: string
    person_id: string
    sid: string | null
    started_at: number
    expires_at: number
  }
  sign_out_notice: {
    id: string
    client_id: string
    person_id: string
    sid: string | null
    reason: string
    created_at: number
    attempts: number
    next_attempt_at: number
  }
  /** The sessions of browsers that were signed out, by their digests (directory/people/person-store.ts). */
  signed_out_session: {
    digest: string
    signed_out_at: number
    kept_until: number
  }
  signed_out_everywhere: {
    person_id: string
    signed_out_at: number
  }
  /** What callers did, counted by several processes together. */
  request_count: {
    key: string
    points: number
    ends_at: number
  }
  client_refusal: {
    id: string
    client_id: string
    occurred_at: number
    route: string
    error: string
    reason: string | null
    request_id: string
  }
}
