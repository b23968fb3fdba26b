// The types of the tables for clients, keys, grants, OAuth state, the outbox and webhooks. See schema.ts.

import type { Generated } from 'kysely'

export type ApplicationKind = 'site' | 'resource_server'
export type ClientAuthMethod = 'none' | 'client_secret_post' | 'private_key_jwt'
export type ApplicationType = 'web' | 'native'
export type DocumentReview = 'approved' | 'blocked'

export interface Created {
  id: string
  created_at: number
}

interface KeyTable {
  kid: string
  state: 'next' | 'current' | 'retired'
  sealed_private: string
  created_at: number
  retired_at: number | null
}

export interface OAuthTables {
  oauth_application: {
    client_id: string
    kind: ApplicationKind
    site_id: string | null
    name: string
    auth_method: ClientAuthMethod
    application_type: ApplicationType
    assistant: string | null
    operator_at: number | null
    endless_at: number | null
    redirect_uris: Generated<string>
    post_logout_redirect_uris: Generated<string>
    scopes: Generated<string>
    jwks: string | null
    jwks_uri: string | null
    pushed_requests_required_at: number | null
    bound_tokens_required_at: number | null
    backchannel_logout_uri: string | null
    backchannel_logout_session_required_at: number | null
    created_by: string | null
    created_at: number
    disabled_at: number | null
    deleted_at: number | null
  }
  unused_client: { client_id: string; network: string; registered_at: number; expires_at: number }
  client_secret: Created & {
    client_id: string
    digest: string
    hint: string
    expires_at: number | null
  }
  integration_override: { client_id: string; disabled_at: number | null; updated_at: number }
  platform_callback: {
    client_id: string
    uri: string
    registered_at: number
    used_at: number | null
    used_by: string | null
    expires_at: number
  }
  client_version: { client_id: string; version: number }
  signing_key: KeyTable
  upstream_key: KeyTable
  redis_server: { run_id: string; seen_at: number }
  oauth_state: {
    model: string
    id: string
    uid: string | null
    payload: string
    consumed_at: number | null
    expires_at: number
  }
  document_client: {
    client_id: string
    document: string
    fingerprint: string
    first_seen_at: number
    fetched_at: number
    fresh_until: number
    review: DocumentReview | null
    reviewed_fingerprint: string | null
    reviewed_by: string | null
    reviewed_at: number | null
  }
  document_site_review: {
    client_id: string
    site_id: string
    review: DocumentReview
    fingerprint: string
    reviewed_by: string | null
    reviewed_at: number
  }
  oauth_grant: {
    id: string
    person_id: string
    client_id: string
    client_name: string
    client_origin: string
    site_id: string | null
    document_fingerprint: string | null
    allowed: string
    granted_at: number
    expires_at: number
    ended_at: number | null
    end_reason: string | null
    last_used_at: number | null
  }
  oauth_grant_scope: { grant_id: string; scope: string }
  oauth_grant_day: { grant_id: string; day: number; calls: number }
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
    browser_session_id: string | null
    started_at: number
    expires_at: number
  }
  outbox: Created & {
    position: Generated<number>
    kind: string
    queue: string
    subject: string | null
    payload: string
    due_at: number
    attempts: number
    last_error: string | null
  }
  webhook_endpoint: Created & {
    site_id: string
    url: string
    payload: 'full' | 'thin'
    sealed_secret: string
    sealed_previous: string | null
    previous_until: number | null
    disabled_at: number | null
    disabled_reason: string | null
    undelivered_since: number | null
  }
  webhook_endpoint_type: { endpoint_id: string; type: string }
  webhook_delivery: {
    id: string
    endpoint_id: string
    event_id: string
    type: string
    attempted_at: number
    duration_ms: number
    status: number | null
    error: string | null
    response: string | null
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
