/**
 * The verdict on a bearer token, for both protected resources. What is protected is not known
 * here.
 */

import { type Access, judgeToken } from '../grants/access.ts'
import { type AccessTokens, type FoundAccessToken, isPastEnd } from '../token/access-token.ts'

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

/** A valid token of this origin, and the person who holds it as they are now. */
export interface BearerToken extends Pick<GoodAccess, 'person' | 'roles'> {
  readonly personId: string
  readonly clientId: string
  /** The site that the token is bound to; undefined for a sign-in without one. */
  readonly siteId: string | undefined
  readonly scopes: ReadonlySet<string>
}

type GoodAccess = Extract<Access, { kind: 'good' }>

export interface VerdictDependencies {
  readonly tokens: AccessTokens
  /** The audience of every token of this origin. */
  readonly audience: string
  /** Hears of each use of a token. */
  readonly countUse: (grantId: string) => void
  readonly now: () => number
}

/** Judges the Authorization headers of a request; a request may illegally carry several. */
export type VerifyBearer = (authorization: readonly string[]) => Promise<Verdict>

/** The one sentence about every token that is not good: which fault it has is nobody's business. */
export const TOKEN_REFUSED =
  'the access token is malformed, expired, revoked, or was not issued for this service'

/** What a request without any token is told where one is required. */
export const TOKEN_REQUIRED = 'an access token is required'

/** One storage round trip. */
export function makeVerifyBearer(dependencies: VerdictDependencies): VerifyBearer {
  const { tokens } = dependencies
  return async (authorization) => {
    const [header] = authorization
    if (header === undefined) return { kind: 'anonymous' }
    if (authorization.length > 1) return invalid('there are several Authorization headers')
    const value = bearerValue(header)
    if (value === undefined) return invalid('the Authorization header is no Bearer token')
    try {
      const found = await tokens.find(value)
      if (!found) return invalid('the token is unknown: never issued, or of a family that is gone')
      return judge(found, dependencies)
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

function judge(
  { record, facts }: FoundAccessToken,
  { audience, countUse, now }: VerdictDependencies,
): Verdict {
  const { accountId: personId = '', clientId = '' } = record
  const refused = (reason: string): Verdict => ({ ...invalid(reason), clientId })
  if (isPastEnd(record)) return refused('the token has expired')
  if (record.aud !== audience) return refused('the token was issued for another origin')

  const scopes = new Set(record.scope?.split(' '))
  const access = judgeToken(facts, record, { scopes, nowMs: now() })
  if (access.kind === 'lost') return refused(access.reason)
  const { grant, person, roles } = access
  countUse(grant.id)
  const { siteId } = grant
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
