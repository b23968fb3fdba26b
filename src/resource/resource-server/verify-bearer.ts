/**
 * What a token is worth, for every address that takes one. What is protected, and what is told of a
 * token, is not known here.
 */

import type { CheckDpop, ProvenRequest } from '../../oauth/keys/proofs.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { type BindingFault, type DpopChallenge, judgeBinding, type TokenScheme } from './binding.ts'
import {
  type JudgeAccessToken,
  type JudgeDependencies,
  makeTokenJudges,
  type WorthlessToken,
} from './judge-token.ts'

/**
 * What a bearer token is worth at a protected resource. This part judges tokens for every surface
 * that takes them; how a surface answers is `protect.ts`.
 *
 * A verdict is a value, because the caller goes on with it: without a token one surface refuses and
 * another serves the public (specification, Errors 5).
 */
export type Verdict =
  | { readonly kind: 'anonymous'; readonly dpop?: DpopChallenge }
  | Granted
  | {
      readonly kind: 'invalid'
      /** For the log; the caller is told one sentence whatever it was. */
      readonly reason: string
      readonly description: string
      /** Said in place of `invalid_token`, where a token is bound to a key. */
      readonly error?: BindingFault['error']
      readonly dpop?: DpopChallenge
      readonly nextNonce?: string | undefined
      /** The token that is refused, when it is known at all. */
      readonly token?: AccessToken | undefined
    }
  | {
      readonly kind: 'insufficient'
      readonly token: AccessToken
      /** Every scope of the operation, not only those that are missing (RFC 6750 §3.1). */
      readonly needed: readonly string[]
      /** Whether one of them is enough. */
      readonly oneIsEnough: boolean
    }
  /** No verdict can be reached, which says nothing about the token (specification, Errors 7). */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export interface Granted {
  readonly kind: 'granted'
  readonly token: AccessToken
  readonly nextNonce?: string | undefined
}

export interface VerdictDependencies {
  readonly judgeAccessToken: JudgeAccessToken
  /** Left out where no token is bound to a key. */
  readonly checkDpop?: CheckDpop | undefined
  /** Hears of each use of a token. */
  readonly countUse: (grantId: string) => void
}

/** The part of a request that decides; it may illegally carry several of a header. */
export interface BearerRequest extends Omit<ProvenRequest, 'accessToken'> {
  readonly authorization: readonly string[]
}

/** Judges the token of a request. */
export type VerifyBearer = (request: BearerRequest) => Promise<Verdict>

/** The one sentence about every token that is not good: which fault it has is nobody's business. */
export const TOKEN_REFUSED =
  'the access token is malformed, expired, revoked, or was not issued for this service; one that is for ' +
  'it was asked for with resource, at the authorization and at the token endpoint'

/** What a request without any token is told where one is required. */
export const TOKEN_REQUIRED = 'an access token is required'

/** What judges the tokens of a service: once for all of its addresses, see `judge-token.ts`. */
export function makeVerdicts({
  countUse,
  checkDpop,
  ...dependencies
}: JudgeDependencies & Omit<VerdictDependencies, 'judgeAccessToken'>) {
  const judges = makeTokenJudges(dependencies)
  return {
    ...judges,
    checkDpop,
    verifyBearer: makeVerifyBearer({ ...judges, checkDpop, countUse }),
  }
}

export function makeVerifyBearer(dependencies: VerdictDependencies): VerifyBearer {
  const { checkDpop } = dependencies
  const offer: { readonly dpop?: DpopChallenge } = checkDpop ? { dpop: 'offered' } : {}
  return async (request) => {
    const { authorization } = request
    const [header] = authorization
    if (header === undefined) return { kind: 'anonymous', ...offer }
    if (authorization.length > 1) {
      return { ...invalid('there are several Authorization headers'), ...offer }
    }
    const sent = readHeader(header, checkDpop !== undefined)
    if (!sent) return { ...invalid('the Authorization header is no Bearer token'), ...offer }
    try {
      return await judgeSent(sent, request, dependencies)
    } catch (cause) {
      return { kind: 'unavailable', cause }
    }
  }
}

interface SentToken {
  readonly scheme: TokenScheme
  readonly value: string
}

async function judgeSent(
  sent: SentToken,
  request: BearerRequest,
  { judgeAccessToken, checkDpop, countUse }: VerdictDependencies,
): Promise<Verdict> {
  // A protected resource takes tokens that are bound to this origin, and no others.
  const judged = await judgeAccessToken(sent.value, { unbound: false })
  if (judged.kind === 'worthless') {
    const offer = checkDpop && ({ dpop: 'offered' } as const)
    return { ...invalidBecause(judged), ...offer }
  }
  const { token } = judged
  const { fault, nextNonce } = await judgeBinding({ ...sent, token }, request, checkDpop)
  if (fault) return { kind: 'invalid', ...fault, token, dpop: 'demanded', nextNonce }
  countUse(token.grant.id)
  return { kind: 'granted', token, ...(nextNonce !== undefined && { nextNonce }) }
}

/** The token of a request that shows no key, or the verdict where there is none to judge. */
export function readBearer(
  authorization: readonly string[],
): { readonly value: string } | Extract<Verdict, { kind: 'anonymous' | 'invalid' }> {
  const [header] = authorization
  if (header === undefined) return { kind: 'anonymous' }
  if (authorization.length > 1) return invalid('there are several Authorization headers')
  return readHeader(header, false) ?? invalid('the Authorization header is no Bearer token')
}

type Invalid = Extract<Verdict, { kind: 'invalid' }>

/** The refusal of a worthless token. */
export function invalidBecause({ reason, token }: WorthlessToken): Invalid {
  return { ...invalid(reason), token }
}

function readHeader(header: string, takesProofs: boolean): SentToken | undefined {
  const [, scheme = '', value] = /^(bearer|dpop) +([^ ]+)$/i.exec(header) ?? []
  const isDpop = scheme.toLowerCase() === 'dpop'
  if (value === undefined || (isDpop && !takesProofs)) return undefined
  return { scheme: isDpop ? 'DPoP' : 'Bearer', value }
}

/** @param reason for the log */
export function invalid(reason: string): Invalid {
  return { kind: 'invalid', reason, description: TOKEN_REFUSED }
}

/** Turns a granted verdict into an insufficient one when the token lacks one of the scopes. */
export function demandScopes(verdict: Verdict, needed: readonly string[]): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  if (needed.every((scope) => token.scopes.includes(scope))) return verdict
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
  if (sufficient.some((scope) => token.scopes.includes(scope))) return verdict
  return { kind: 'insufficient', token, needed, oneIsEnough: true }
}
