/** Defines a client of any origin, with its names and ids. The engine has the protocol. */

import type { z } from 'zod'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../directory/scopes/policy.ts'
import type { ApplicationType, ClientAuthMethod } from '../../platform/store/schema.ts'
import type { ClientKeys } from './further-plans.ts'

/**
 * A client of any origin. A resource server is none of the four origins: it only introspects tokens
 * (design 13).
 */
export interface Client {
  readonly clientId: string
  readonly origin: AnyOrigin
  readonly name: string
  /** The site that a site's own client is bound to. */
  readonly siteId?: string | undefined
  readonly siteName?: string | undefined
  readonly redirectUris: readonly string[]
  /** The one of them that a pattern admitted; all connections of the platform share its client_id. */
  readonly patternCallback?: string | undefined
  readonly postLogoutRedirectUris?: readonly string[]
  readonly authMethod: ClientAuthMethod
  readonly applicationType: ApplicationType
  /** The client's choice; undefined for all that are served. */
  readonly grantTypes?: readonly string[] | undefined
  /** SHA-256 digests of the secrets that are valid now, at most two. */
  readonly secretDigests?: readonly string[]
  /** Public keys of a client that authenticates with one. */
  readonly keys?: ClientKeys | undefined
  /** Whether its authorization requests must be pushed (RFC 9126 §6). */
  readonly pushesRequests?: boolean
  /** Whether its tokens must be bound to a key (RFC 9449 §5.2). */
  readonly bindsTokens?: boolean
  /** Address for sign-out notices, and whether each must name the session. */
  readonly logout?: { readonly uri: string; readonly sessionRequired: boolean } | undefined
  /** When the first of its secrets expires, in epoch milliseconds. */
  readonly changesAt?: number | undefined
  /** The operator's choice; undefined if the origin alone decides. */
  readonly chosenScopes?: readonly string[] | undefined
  readonly state: ClientState

  readonly document?: DocumentState | undefined
}

export interface DocumentState {
  /** Whether the present document is approved for every site (specification, Authentication 8). */
  readonly reviewed: boolean
  /** Whether it is approved for at least one site; the site choice decides which (design 31). */
  readonly mayWriteSomewhere: boolean
  /** Digest of the name and the redirect addresses that a consent covers. */
  readonly fingerprint: string
}

/** The four origins of policy, and two without registration. */
export type AnyOrigin = ClientOrigin | 'resource_server' | 'first_party'

/** `off` refuses new authorizations and ends existing ones; a `deleted` client is kept only to refuse it. */
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

/** The choices of a loopback client at its registration. */
export interface LoopbackRegistration {
  readonly name: string | undefined
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris?: readonly string[]
  readonly grantTypes: readonly (typeof grantTypesServed)[number][]
  /** For the answer only; its origin decides what it may request. */
  readonly scope: string
}

export const grantTypesServed = ['authorization_code', 'refresh_token'] as const

/** Whether the text can be a client_id (RFC 6749 appendix A.1). Others need no query; PostgreSQL fails at NUL. */
export function canBeClientId(text: string): boolean {
  return /^[\x20-\x7e]{1,2048}$/.test(text)
}

const NAME_LENGTH_MAX = 100

/**
 * Characters that can disguise a name or change how a page reads: control and formatting characters (including
 * invisible and bidirectional ones), surrogates, private use, unassigned, line and paragraph separators, the
 * replacement character, blank letters (Hangul fillers, the empty Braille pattern; but not emoji variation
 * selectors), and marks stacked so high that they cover the lines above.
 */
const forbidden =
  /[\p{C}\p{Zl}\p{Zp}\uFFFD\u2800]|[\p{Default_Ignorable_Code_Point}--[\uFE00-\uFE0F]]|\p{M}{5}/v

/** Whether a name contains such characters. */
export function hidesSomething(name: string): boolean {
  return forbidden.test(name)
}

/** Trims the self-declared name of a client, and refuses one that could imitate another. */
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

/** Names the member of client metadata that has the wrong type or too many items. */
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
