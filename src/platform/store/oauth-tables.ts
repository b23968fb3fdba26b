/** Applications, their secrets, signing keys and OAuth state, as `schema.ts` describes the others. */
export type ApplicationKind = 'site' | 'resource_server'
export type ClientAuthMethod = 'none' | 'client_secret_post' | 'private_key_jwt'
export type ApplicationType = 'web' | 'native'
export type SigningKeyState = 'next' | 'current' | 'retired'

interface KeyTable {
  kid: string
  state: SigningKeyState
  public_jwk: string
  sealed_private: string
  created_at: number
  current_at: number | null
  retired_at: number | null
}

export interface OauthTables {
  oauth_application: {
    client_id: string
    kind: ApplicationKind
    site_id: string | null
    name: string
    auth_method: ClientAuthMethod
    application_type: ApplicationType
    /** The id of the row of config/assistants.json for which it was made. */
    assistant: string | null
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
  unused_client: {
    client_id: string
    /** A keyed digest. */
    network: string
    registered_at: number
    expires_at: number
  }
  oauth_application_redirect_uri: {
    client_id: string
    uri: string
    position: number
  }
  oauth_application_post_logout_uri: {
    client_id: string
    uri: string
  }
  oauth_application_scope: {
    client_id: string
    scope: string
  }
  client_secret: {
    id: string
    client_id: string
    digest: string
    hint: string
    created_at: number
    expires_at: number | null
  }
  integration_override: {
    client_id: string
    disabled_at: number | null
    note: string | null
    updated_at: number
  }
  /** Addresses that a pattern of a platform admitted at a registration. */
  platform_callback: {
    client_id: string
    uri: string
    registered_at: number
    used_at: number | null
    /** The first person who allowed something that returned there. */
    used_by: string | null
    expires_at: number
  }
  /** Counted by triggers. */
  client_version: {
    client_id: string
    version: number
  }
  signing_key: KeyTable
  /** Keys of what is forwarded to the platform's own API. */
  upstream_key: KeyTable
  /** The Redis servers that were met, by the id of each start of one (platform/store/redis-memory.ts). */
  redis_server: {
    run_id: string
    seen_at: number
  }
  oauth_state: {
    model: string
    id: string
    grant_id: string | null
    uid: string | null
    payload: string
    consumed_at: number | null
    successor_seed: string | null
    expires_at: number
  }
}
