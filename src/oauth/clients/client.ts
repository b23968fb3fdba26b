/** What a client is, and which names and ids it can have. The protocol is the engine's. */

import type { z } from 'zod'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../directory/scopes/policy.ts'
import type { ApplicationType, ClientAuthMethod } from '../../platform/store/schema.ts'
import type { ClientKeys } from './further-plans.ts'

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
  /** The client's own choice; otherwise all that are served. */
  readonly grantTypes?: readonly string[] | undefined
  /** SHA-256 digests of the secrets that are valid now, at most two. */
  readonly secretDigests?: readonly string[]
  /** Public keys, where it authenticates with one. */
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

/** The four origins of policy, and two that no registration leads to. */
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

/** What a loopback client can choose at its registration. */
export interface LoopbackRegistration {
  readonly name: string | undefined
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris?: readonly string[]
  readonly grantTypes: readonly (typeof grantTypesServed)[number][]
  /** For the answer only: what it may request follows from its origin. */
  readonly scope: string
}

export const grantTypesServed = ['authorization_code', 'refresh_token'] as const

/** Whether this can be a client_id (RFC 6749 appendix A.1) and is worth a query; PostgreSQL fails at a NUL. */
export function canBeClientId(text: string): boolean {
  return /^[\x20-\x7e]{1,2048}$/.test(text)
}

const NAME_LENGTH_MAX = 100

/**
 * Characters that no name needs, and that could change how a page reads or what a name is equal to:
 * control, formatting (also the invisible and the bidirectional ones), surrogates, private use,
 * unassigned, line and paragraph separators, what a decoder puts for a byte that it cannot read, letters
 * that show as nothing (Hangul fillers, the empty Braille pattern; but no choice of an emoji's form), and
 * marks piled up so high that they cover the lines above.
 */
const forbidden =
  /[\p{C}\p{Zl}\p{Zp}\uFFFD\u2800]|[\p{Default_Ignorable_Code_Point}--[\uFE00-\uFE0F]]|\p{M}{5}/v

/** Whether a name that other people read has such characters. */
export function hidesSomething(name: string): boolean {
  return forbidden.test(name)
}

/** Trims the name that a client gives itself, and refuses one that could be mistaken for another. */
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
