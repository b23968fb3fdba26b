/** The tables of grants and of who signed out; `schema.ts` has the rules that they follow too. */

interface OauthGrantTable {
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

interface OauthGrantScopeTable {
  grant_id: string
  scope: string
}

interface OauthGrantDayTable {
  grant_id: string
  day: number
  calls: number
}

interface RefreshTokenFamilyTable {
  id: string
  grant_id: string
  started_at: number
}

interface SignedOutEverywhereTable {
  person_id: string
  signed_out_at: number
}

interface ClientRefusalTable {
  id: string
  client_id: string
  occurred_at: number
  route: string
  error: string
  reason: string | null
  request_id: string
}

export interface GrantTables {
  oauth_grant: OauthGrantTable
  oauth_grant_scope: OauthGrantScopeTable
  oauth_grant_day: OauthGrantDayTable
  refresh_token_family: RefreshTokenFamilyTable
  signed_out_everywhere: SignedOutEverywhereTable
  client_refusal: ClientRefusalTable
}
