/**
 * The verdict on a bearer token, for both protected resources. What is protected is not known
 * here.
 */

import type { Access } from '../grants/access.ts'

/**
 * What a bearer token is worth at a protected resource. This part judges tokens for every surface
 * that takes them; how a surface answers is `protect.ts`, how a refusal is worded `challenge.ts`.
 *
 * A verdict is a value, because the caller goes on with it: without a token one surface refuses and
 * another serves the public (specification, Errors 5).
 */
export type Verdict =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'granted'; readonly token: BearerToken }
  | {
      readonly kind: 'invalid'
      /** For the log; the caller is told one sentence whatever it was. */
      readonly reason: string
      readonly description: string
      /** Whose token it is, when it is known at all. */
      readonly clientId?: string
    }
  | {
      readonly kind: 'insufficient'
      readonly token: BearerToken
      /** Every scope of the operation, not only those that are missing (RFC 6750 §3.1). */
      readonly needed: readonly string[]
    }
  /** No verdict can be reached, which says nothing about the token (specification, Errors 7). */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

type GoodStanding = Extract<Access, { kind: 'good' }>

/** A valid token of this origin, and the person who holds it as they are now. */
export interface BearerToken {
  readonly personId: string
  readonly clientId: string
  /** The site that the token is bound to; undefined for a sign-in without one. */
  readonly siteId: string | undefined
  readonly scopes: ReadonlySet<string>
  readonly person: GoodStanding['person']
  /** The roles that the person holds at the site now (design 15). */
  readonly roles: GoodStanding['roles']
}

/** An access token as it is stored. */
export interface StoredToken {
  readonly personId: string
  readonly clientId: string
  readonly grantId: string
  readonly siteId: string | undefined
  readonly scopes: ReadonlySet<string>
  readonly audience: unknown
  readonly expired: boolean
}

export interface StoredGrant {
  readonly personId: string | undefined
  readonly clientId: string | undefined
}

/** Where tokens come from. Every call is one round trip to its storage. */
export interface BearerTokens {
  findToken(value: string): Promise<StoredToken | undefined>
  /** For the log: why `findToken` found nothing. */
  whyUnknown(value: string): Promise<string>
  /** Nothing for a grant that was revoked or has expired. */
  findGrant(grantId: string): Promise<StoredGrant | undefined>
  findAccess(token: StoredToken): Promise<Access>
}

/** Judges the Authorization headers of a request; a request may illegally carry several. */
export type VerifyBearer = (authorization: readonly string[]) => Promise<Verdict>

/** The one sentence about every token that is not good: which fault it has is nobody's business. */
export const TOKEN_REFUSED =
  'the access token is malformed, expired, revoked, or was not issued for this service'

/** What a request without any token is told where one is required. */
export const TOKEN_REQUIRED = 'an access token is required'

/**
 * Two storage round trips at most: the token, then its grant and the person's standing at the same
 * time. An access token outlives its grant in the engine, so that the grant has to be asked too.
 */
export function makeVerifyBearer(tokens: BearerTokens, audience: string): VerifyBearer {
  return async (authorization) => {
    const [header] = authorization
    if (header === undefined) return { kind: 'anonymous' }
    if (authorization.length > 1) return invalid('there are several Authorization headers')
    const value = bearerValue(header)
    if (value === undefined) return invalid('the Authorization header is no Bearer token')
    try {
      const token = await tokens.findToken(value)
      if (!token) return invalid(await tokens.whyUnknown(value))
      return await judge(token, tokens, audience)
    } catch (cause) {
      return { kind: 'unavailable', cause }
    }
  }
}

const TOKEN_LENGTH_MAX = 256

/** RFC 6750 §2.1: the scheme, in any case, one space at least, and a b64token. */
const bearerHeader = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i

function bearerValue(header: string): string | undefined {
  const value = bearerHeader.exec(header)?.[1]
  return value !== undefined && value.length <= TOKEN_LENGTH_MAX ? value : undefined
}

async function judge(
  stored: StoredToken,
  tokens: BearerTokens,
  audience: string,
): Promise<Verdict> {
  const { personId, clientId, siteId, scopes } = stored
  const refused = (reason: string): Verdict => ({ ...invalid(reason), clientId })
  if (stored.expired) return refused('the token has expired')
  if (stored.audience !== audience) return refused('the token was issued for another origin')

  const [grant, access] = await Promise.all([
    tokens.findGrant(stored.grantId),
    tokens.findAccess(stored),
  ])
  if (!grant) return refused('the grant of the token has ended')
  if (grant.personId !== personId || grant.clientId !== clientId) {
    return refused('the grant of the token belongs to another person or client')
  }
  if (access.kind === 'lost') return refused(access.reason)
  const { person, roles } = access
  return { kind: 'granted', token: { personId, clientId, siteId, scopes, person, roles } }
}

function invalid(reason: string): Extract<Verdict, { kind: 'invalid' }> {
  return { kind: 'invalid', reason, description: TOKEN_REFUSED }
}

/** Turns a granted verdict into an insufficient one when the token lacks one of the scopes. */
export function demandScopes(verdict: Verdict, needed: readonly string[]): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  if (needed.every((scope) => token.scopes.has(scope))) return verdict
  return { kind: 'insufficient', token, needed }
}
