import { type ClientOrigin, decideScopes } from '../scopes/policy.ts'
import type { ApplicationType, ClientAuthMethod } from '../store/schema.ts'

/**
 * A client as policy sees it, whichever way it became known. A resource server is none of the four
 * origins: it authorizes nobody and only introspects (design 13).
 */
export interface Client {
  readonly clientId: string
  readonly origin: ClientOrigin | 'resource_server'
  readonly name: string
  /** The site that a site's own client is bound to. */
  readonly siteId: string | undefined
  readonly siteName: string | undefined
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris: readonly string[]
  readonly authMethod: ClientAuthMethod
  readonly applicationType: ApplicationType
  /** SHA-256 digests of the secrets that are valid now, at most two. */
  readonly secretDigests: readonly string[]
  /** What the operator chose; undefined where the origin alone decides. */
  readonly chosenScopes: readonly string[] | undefined
  readonly state: ClientState
}

/** `off` refuses new authorizations, existing ones end; a `deleted` client exists only to be told so. */
export type ClientState = 'active' | 'off' | 'deleted'

/** The scopes a client may request, by the policy of its origin. */
export function scopesOf({ origin, chosenScopes }: Client): string[] {
  if (origin === 'resource_server') return []
  return decideScopes({ origin, ...(chosenScopes && { chosen: chosenScopes }) })
}
