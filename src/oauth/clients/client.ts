/** Defines a client of any origin, and validates client ids and names. */

import type { z } from 'zod'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../directory/scopes/policy.ts'
import type { ApplicationType, ClientAuthMethod } from '../../platform/store/oauth-tables.ts'
import type { assertionAlgorithms } from './proofs.ts'

/** An OAuth client: application, resource server, platform, loopback client, document client or our own pages. */
export interface Client {
  readonly clientId: string
  /** Resource servers get no tokens (design 13). `first_party` is the client of our own pages. */
  readonly origin: ClientOrigin | 'resource_server' | 'first_party'
  readonly name: string
  /** The site that an application or resource server belongs to. A resource server for all sites has none. */
  readonly siteId?: string | undefined
  readonly siteName?: string | undefined
  readonly redirectUris: readonly string[]
  /** The redirect_uri of the request, if it matched a platform's pattern instead of a listed URI. */
  readonly patternCallback?: string | undefined
  readonly postLogoutRedirectUris?: readonly string[]
  readonly authMethod: ClientAuthMethod
  readonly applicationType: ApplicationType
  /** The grant types that the client chose; undefined if it may use all supported grant types. */
  readonly grantTypes?: readonly string[] | undefined
  /** SHA-256 digests of the currently valid secrets. */
  readonly secretDigests?: readonly string[]
  /** Public keys (RFC 7517 §5). A public client with keys decides at each request whether to authenticate. */
  readonly keys?:
    | { readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] } }
    | { readonly jwksUri: string }
    | undefined
  /** The algorithm that the client chose for its assertions; undefined if it may use any of `proofAlgorithms`. */
  readonly signingAlgorithm?: (typeof assertionAlgorithms)[number] | undefined
  /** Whether the client must push its authorization requests (RFC 9126 §6). */
  readonly pushesRequests?: boolean
  /** Whether the client's tokens must be bound to a key (RFC 9449 §5.2). */
  readonly bindsTokens?: boolean
  /** URI for sign-out notices, and whether each notice must identify the session. */
  readonly logout?: { readonly uri: string; readonly sessionRequired: boolean } | undefined
  /** When the first of the client's secrets expires, in epoch milliseconds. */
  readonly changesAt?: number | undefined
  /** The scopes that an operator chose; undefined if operators do not choose this client's scopes. */
  readonly chosenScopes?: readonly string[] | undefined
  readonly state: ClientState
  /** The state of the client's metadata document; undefined if there is none. */
  readonly document?: DocumentState | undefined
}

export interface DocumentState {
  /** Whether the current document is approved for all sites (specification, Authentication 8). */
  readonly reviewed: boolean
  /** Whether the current document is approved for at least one site. Only then may the client request write scopes. */
  readonly approvedSomewhere: boolean
  /** The digest of the document's name and redirect URIs. If it changes, people must consent again. */
  readonly fingerprint: string
}

/** `off`: the client gets no new authorizations. `deleted`: authorization requests treat the client as unknown. */
export type ClientState = 'active' | 'off' | 'deleted'

/** Returns the scopes that the client may request under the policy for clients of its `origin`. */
export function requestableScopes({ origin, chosenScopes, document }: Client): string[] {
  if (origin === 'resource_server') return []
  if (origin === 'first_party') return [OPENID]
  return decideScopes({
    origin,
    ...(chosenScopes && { chosen: chosenScopes }),
    reviewed: document?.approvedSomewhere === true,
  })
}

/** Whether the client cannot get write scopes yet, because its metadata document is not approved for any site. */
export function isUnreviewed({ origin, document }: Pick<Client, 'origin' | 'document'>): boolean {
  return origin === 'document' && document?.approvedSomewhere !== true
}

export const grantTypesServed = ['authorization_code', 'refresh_token'] as const

/**
 * Whether the text is a well-formed client_id of at most 2048 characters (RFC 6749 appendix A.1). Call this before a
 * query, because PostgreSQL raises an error on NUL.
 */
export function canBeClientId(text: string): boolean {
  return /^[\x20-\x7e]{1,2048}$/.test(text)
}

const NAME_LENGTH_MAX = 100

/**
 * Characters that can disguise a name or change how the text around it looks:
 *
 * - control, formatting (invisible, bidirectional), surrogate, private-use and unassigned characters
 * - line and paragraph separators, and the replacement character
 * - blank letters, such as Hangul fillers and the empty Braille pattern, but not the variation selectors of emoji
 * - combining marks stacked high enough to cover the lines above
 */
const forbidden =
  /[\p{C}\p{Zl}\p{Zp}\uFFFD\u2800]|[\p{Default_Ignorable_Code_Point}--[\uFE00-\uFE0F]]|\p{M}{5}/v

/** Whether the name contains characters that can disguise it, such as invisible or control characters. */
export function hasForbiddenCharacters(name: string): boolean {
  return forbidden.test(name)
}

/** Trims the name that a client gives itself. Returns a problem if the name is too long or has forbidden characters. */
export function readClientName(
  value: string,
): { readonly name: string | undefined } | { readonly problem: string } {
  if (hasForbiddenCharacters(value)) {
    return { problem: 'client_name contains control, formatting or invisible characters' }
  }
  const name = value.trim()
  if ([...name].length > NAME_LENGTH_MAX) {
    return { problem: `client_name is longer than ${NAME_LENGTH_MAX} characters` }
  }
  return { name: name || undefined }
}

/** Describes the first member of client metadata that is forbidden, has the wrong type or has too many items. */
export function describeShapeFault({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.join('.') || 'the metadata'
  if (issue?.code === 'too_big') return `${path}: must have at most ${issue.maximum} items`
  const fault = issue?.code === 'invalid_type' ? faults[issue.expected] : undefined
  return `${path}: ${fault ?? issue?.message}`
}

const faults: Readonly<Record<string, string>> = {
  string: 'must be a string',
  array: 'must be a list',
}
