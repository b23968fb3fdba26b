/**
 * What a token is worth, for every address that takes one. What is protected, and what is told of a
 * token, is not known here.
 */

import {
  type ExpectedToken,
  type GoodAccess,
  type GoodToken,
  type JudgeDependencies,
  type JudgeToken,
  makeJudgeToken,
  type WorthlessToken,
} from './judge-token.ts'

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
      /** Whose token it is, and what it opened, when it is known at all. */
      readonly clientId?: string
      readonly former?: ReadonlySet<string>
    }
  | {
      readonly kind: 'insufficient'
      readonly token: BearerToken
      /** Every scope of the operation, not only those that are missing (RFC 6750 §3.1). */
      readonly needed: readonly string[]
      /** Whether one of them is enough. */
      readonly oneIsEnough: boolean
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

export interface VerdictDependencies {
  readonly judgeToken: JudgeToken
  /** Hears of each use of a token. */
  readonly countUse: (grantId: string) => void
}

/** Judges the Authorization headers of a request; a request may illegally carry several. */
export type VerifyBearer = (authorization: readonly string[]) => Promise<Verdict>

/** The one sentence about every token that is not good: which fault it has is nobody's business. */
export const TOKEN_REFUSED =
  'the access token is malformed, expired, revoked, or was not issued for this service'

/** What a request without any token is told where one is required. */
export const TOKEN_REQUIRED = 'an access token is required'

/** What judges the tokens of a service: once for all of its addresses, see `judge-token.ts`. */
export function makeVerdicts({
  countUse,
  ...dependencies
}: JudgeDependencies & Pick<VerdictDependencies, 'countUse'>) {
  const judgeToken = makeJudgeToken(dependencies)
  return { judgeToken, verifyBearer: makeVerifyBearer({ judgeToken, countUse }) }
}

/** A protected resource takes access tokens that are bound to this origin, and no others. */
const expected = { kinds: ['access'], unbound: false } as const satisfies ExpectedToken

export function makeVerifyBearer({ judgeToken, countUse }: VerdictDependencies): VerifyBearer {
  return async (authorization) => {
    const [header] = authorization
    if (header === undefined) return { kind: 'anonymous' }
    if (authorization.length > 1) return invalid('there are several Authorization headers')
    const [, value] = /^bearer +([^ ]+)$/i.exec(header) ?? []
    if (value === undefined) return invalid('the Authorization header is no Bearer token')
    try {
      const judged = await judgeToken(value, expected)
      if (judged.kind === 'worthless') return { ...invalid(judged.reason), ...knownOf(judged) }
      countUse(judged.access.grant.id)
      return { kind: 'granted', token: bearerToken(judged) }
    } catch (cause) {
      return { kind: 'unavailable', cause }
    }
  }
}

function knownOf({ clientId, former }: WorthlessToken) {
  return { ...(clientId !== undefined && { clientId }), ...(former && { former }) }
}

function bearerToken({ record, scopes, access }: GoodToken): BearerToken {
  const { accountId: personId = '', clientId = '' } = record
  const { grant, person, roles } = access
  return { personId, clientId, siteId: grant.siteId, scopes, person, roles }
}

function invalid(reason: string): Extract<Verdict, { kind: 'invalid' }> {
  return { kind: 'invalid', reason, description: TOKEN_REFUSED }
}

/** Turns a granted verdict into an insufficient one when the token lacks one of the scopes. */
export function demandScopes(verdict: Verdict, needed: readonly string[]): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  if (needed.every((scope) => token.scopes.has(scope))) return verdict
  return { kind: 'insufficient', token, needed, oneIsEnough: false }
}

/**
 * Turns a granted verdict into an insufficient one when the token has none of the scopes.
 *
 * @param needed those that the caller is told of
 */
export function demandOneScope(
  verdict: Verdict,
  sufficient: readonly string[],
  needed: readonly string[],
): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  if (sufficient.some((scope) => token.scopes.has(scope))) return verdict
  return { kind: 'insufficient', token, needed, oneIsEnough: true }
}
