/** Applications, their secrets, signing keys and OAuth state, as `schema.ts` describes the others. */
export type ApplicationKind = 'site' | 'resource_server'
export type ClientAuthMethod = 'none' | 'client_secret_post'
export type ApplicationType = 'web' | 'native'
export type SigningKeyState = 'next' | 'current' | 'retired'

interface OauthApplicationTable {
  client_id: string
  kind: ApplicationKind
  site_id: string | null
  name: string
  auth_method: ClientAuthMethod
  application_type: ApplicationType
  created_by: string | null
  created_at: number
  disabled_at: number | null
  deleted_at: number | null
}

interface OauthApplicationRedirectUriTable {
  client_id: string
  uri: string
  position: number
}

interface OauthApplicationPostLogoutUriTable {
  client_id: string
  uri: string
}

interface OauthApplicationScopeTable {
  client_id: string
  scope: string
}

interface ClientSecretTable {
  id: string
  client_id: string
  digest: string
  hint: string
  created_at: number
  expires_at: number | null
}

interface IntegrationOverrideTable {
  client_id: string
  disabled_at: number | null
  note: string | null
  updated_at: number
}

interface SigningKeyTable {
  kid: string
  state: SigningKeyState
  public_jwk: string
  sealed_private: string
  created_at: number
  current_at: number | null
  retired_at: number | null
}

interface OauthStateTable {
  model: string
  id: string
  grant_id: string | null
  uid: string | null
  payload: string
  consumed_at: number | null
  successor_seed: string | null
  expires_at: number
}

export interface OauthTables {
  oauth_application: OauthApplicationTable
  oauth_application_redirect_uri: OauthApplicationRedirectUriTable
  oauth_application_post_logout_uri: OauthApplicationPostLogoutUriTable
  oauth_application_scope: OauthApplicationScopeTable
  client_secret: ClientSecretTable
  integration_override: IntegrationOverrideTable
  signing_key: SigningKeyTable
  oauth_state: OauthStateTable
}
