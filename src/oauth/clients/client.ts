/** Defines clients of every origin, with their names and ids. The engine implements the protocol. */

import type { z } from 'zod'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../directory/scopes/policy.ts'
import type { ApplicationType, ClientAuthMethod } from '../../platform/store/schema.ts'
import type { ClientKeys } from './optional-protocols.ts'

/**
 * A client of any origin. Resource servers have none of the four policy origins, because they only introspect tokens
 * (design 13).
 */
export interface Client {
  readonly clientId: string
  readonly origin: AnyOrigin
  readonly name: string
  /** The site that the application belongs to; undefined for other clients. */
  readonly siteId?: string | undefined
  readonly siteName?: string | undefined
  readonly redirectUris: readonly string[]
  /** The redirect URI that matched a pattern of the platform. All connections of the platform share its client_id. */
  readonly patternCallback?: string | undefined
  readonly postLogoutRedirectUris?: readonly string[]
  readonly authMethod: ClientAuthMethod
  readonly applicationType: ApplicationType
  /** The grant types that the client chose; undefined for all supported ones. */
  readonly grantTypes?: readonly string[] | undefined
  /** SHA-256 digests of the currently valid secrets, at most two. */
  readonly secretDigests?: readonly string[]
  /** Public keys of a client that authenticates with a key. */
  readonly keys?: ClientKeys | undefined
  /** Whether its authorization requests must be pushed (RFC 9126 §6). */
  readonly pushesRequests?: boolean
  /** Whether its tokens must be bound to a key (RFC 9449 §5.2). */
  readonly bindsTokens?: boolean
  /** URI for sign-out notices, and whether each notice must identify the session. */
  readonly logout?: { readonly uri: string; readonly sessionRequired: boolean } | undefined
  /** When the first of the client's secrets expires, in epoch milliseconds. */
  readonly changesAt?: number | undefined
  /** The scopes that an operator chose; undefined if the origin alone decides. */
  readonly chosenScopes?: readonly string[] | undefined
  readonly state: ClientState

  readonly document?: DocumentState | undefined
}

export interface DocumentState {
  /** Whether the current document is approved for all sites (specification, Authentication 8). */
  readonly reviewed: boolean
  /**
   * Whether the current document is approved for at least one site. The person then chooses among those (design 31).
   */
  readonly mayWriteSomewhere: boolean
  /** Digest of the name and redirect URIs, which a consent covers. */
  readonly fingerprint: string
}

/** The four policy origins, and two kinds of clients that never register. */
export type AnyOrigin = ClientOrigin | 'resource_server' | 'first_party'

/** `off`: new authorizations are refused, and existing ones have ended. `deleted`: kept only to refuse its requests. */
export type ClientState = 'active' | 'off' | 'deleted'

/** Returns the scopes that the client may request under the policy of its origin. */
export function requestableScopes({ origin, chosenScopes, document }: Client): string[] {
  if (origin === 'resource_server') return []
  if (origin === 'first_party') return [OPENID]
  return decideScopes({
    origin,
    ...(chosenScopes && { chosen: chosenScopes }),
    reviewed: document?.mayWriteSomewhere === true,
  })
}

/** The metadata that a loopback client chose at its registration. */
export interface LoopbackRegistration {
  readonly name: string | undefined
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris?: readonly string[]
  readonly grantTypes: readonly (typeof grantTypesServed)[number][]
  /** The requested scopes, for the registration response only. The client's origin decides what it may request. */
  readonly scope: string
}

export const grantTypesServed = ['authorization_code', 'refresh_token'] as const

/**
 * Whether the text is a well-formed client_id (RFC 6749 appendix A.1). Any other text needs no query, and PostgreSQL
 * raises an error on NUL.
 */
export function canBeClientId(text: string): boolean {
  return /^[\x20-\x7e]{1,2048}$/.test(text)
}

const NAME_LENGTH_MAX = 100

/**
 * Characters that can disguise a name or change how a page reads:
 *
 * - control, formatting, surrogate, private-use and unassigned characters, which include invisible and bidirectional
 *   ones
 * - line and paragraph separators, and the replacement character
 * - blank letters, such as Hangul fillers and the empty Braille pattern, but not emoji variation selectors
 * - combining marks stacked high enough to cover the lines above
 */
const forbidden =
  /[\p{C}\p{Zl}\p{Zp}\uFFFD\u2800]|[\p{Default_Ignorable_Code_Point}--[\uFE00-\uFE0F]]|\p{M}{5}/v

/** Whether the name contains a forbidden character. */
export function hidesSomething(name: string): boolean {
  return forbidden.test(name)
}

/** Trims the name that a client gives itself. Rejects a name that could imitate another. */
export function readClientName(
  value: string,
): { readonly name: string | undefined } | { readonly problem: string } {
  if (hidesSomething(value)) {
    return { problem: 'client_name contains control, formatting or invisible characters' }
  }
  const name = value.trim()
  if ([...name].length > NAME_LENGTH_MAX) {
    return { problem: `client_name is longer than ${NAME_LENGTH_MAX} characters` }
  }
  return { name: name || undefined }
}

/** Describes which member of the client metadata has a wrong type or too many items. */
export function describeShapeFault({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.join('.') || 'the metadata'
  switch (issue?.code) {
    case 'invalid_type':
      return `${path}: must be ${nouns[issue.expected] ?? `of type ${issue.expected}`}`
    case 'too_big':
      return `${path}: must have at most ${issue.maximum} items`
    default:
      return `${path}: ${issue?.message ?? 'malformed'}`
  }
}

const nouns: Readonly<Record<string, string>> = { string: 'a string', array: 'a list' }
