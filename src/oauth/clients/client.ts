/**
 * What a client is, its secrets as digests, and where clients are found. The protocol is the
 * engine's.
 */

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../directory/scopes/policy.ts'
import type { ApplicationType, ClientAuthMethod } from '../../platform/store/oauth-tables.ts'
import type { ClientKeys } from './client-keys.ts'

/**
 * A client as policy sees it, whichever way it became known. A resource server is none of the four
 * origins: it authorizes nobody and only introspects (design 13).
 */
export interface Client {
  readonly clientId: string
  readonly origin: AnyOrigin
  readonly name: string
  /** The site that a site's own client is bound to. */
  readonly siteId?: string | undefined
  readonly siteName?: string | undefined
  readonly redirectUris: readonly string[]
  /** The one of them that a pattern admitted: all who use the platform share its client_id. */
  readonly patternCallback?: string | undefined
  readonly postLogoutRedirectUris?: readonly string[]
  readonly authMethod: ClientAuthMethod
  readonly applicationType: ApplicationType
  /** Those that a client chose for itself; otherwise all that are served. */
  readonly grantTypes?: readonly string[] | undefined
  /** SHA-256 digests of the secrets that are valid now, at most two. */
  readonly secretDigests?: readonly string[]
  /** Its public keys, where it authenticates with one. */
  readonly keys?: ClientKeys | undefined
  /** Whether an authorization request of it must have been pushed (RFC 9126 §6). */
  readonly pushesRequests?: boolean
  /** Whether its tokens must be bound to a key (RFC 9449 §5.2). */
  readonly bindsTokens?: boolean
  /** Where it hears of sign-outs, and whether each notice must name the session. */
  readonly logout?: { readonly uri: string; readonly sessionRequired: boolean } | undefined
  /** When the first of its secrets ends by itself, in epoch milliseconds. */
  readonly changesAt?: number | undefined
  /** What the operator chose; undefined where the origin alone decides. */
  readonly chosenScopes?: readonly string[] | undefined
  readonly state: ClientState
  /** What only a client of a metadata document has. */
  readonly document?: DocumentState | undefined
}

export interface DocumentState {
  /** Whether it is approved for every site, as it is now (specification, Authentication 8). */
  readonly reviewed: boolean
  /** Whether it is so for one site at least; at which, the choice of the site decides (design 31). */
  readonly mayWriteSomewhere: boolean
  /** Names the name and the redirect addresses that a consent is for. */
  readonly fingerprint: string
}

/** The four origins of policy, and two that it does not concern: nobody can become one of these. */
export type AnyOrigin = ClientOrigin | 'resource_server' | 'first_party'

/** `off` refuses new authorizations, existing ones end; a `deleted` client exists only to be told so. */
export type ClientState = 'active' | 'off' | 'deleted'

/** The scopes a client may request, by the policy of its origin. */
export function requestableScopes({ origin, chosenScopes, document }: Client): string[] {
  if (origin === 'resource_server') return []
  if (origin === 'first_party') return [OPENID]
  return decideScopes({
    origin,
    ...(chosenScopes && { chosen: chosenScopes }),
    reviewed: document?.mayWriteSomewhere === true,
  })
}

/** What becomes of a loopback client; everything else of the body is decided by its kind. */
export interface LoopbackRegistration {
  readonly name: string | undefined
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris?: readonly string[]
  readonly grantTypes: readonly (typeof grantTypesServed)[number][]
  /** Told to the client. What it may request follows from its origin, however little it named here. */
  readonly scope: string
}

export const grantTypesServed = ['authorization_code', 'refresh_token'] as const

/**
 * Whether this can be the id of a client. Any other is nobody's, and is not worth a query (RFC 6749
 * appendix A.1; PostgreSQL would fail at a NUL).
 */
export function canBeClientId(text: string): boolean {
  return /^[\x20-\x7e]{1,2048}$/.test(text)
}
