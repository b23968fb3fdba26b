/**
 * What a token is worth, for every address that takes one. What is protected, and what is told of a
 * token, is not known here.
 */

import type { CheckDpop, ProvenRequest } from '../../oauth/proofs/dpop-proof.ts'
import { type BindingFault, judgeBinding, type TokenOfCaller } from './binding.ts'
import type { DpopChallenge } from './challenge.ts'
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
  | { readonly kind: 'anonymous'; readonly dpop?: DpopChallenge }
  | {
      readonly kind: 'granted'
      readonly token: BearerToken
      readonly nextNonce?: string | undefined
    }
  | {
      readonly kind: 'invalid'
      /** For the log; the caller is told one sentence whatever it was. */
      readonly reason: string
      readonly description: string
      /** Said in place of `invalid_token`, where a token is bound to a key. */
      readonly error?: BindingFault['error']
      readonly dpop?: DpopChallenge
      readonly nextNonce?: string | undefined
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
  /** Whether it works together with a key only. */
  readonly bound?: true
}

export interface VerdictDependencies {
  readonly judgeToken: JudgeToken
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
}: JudgeDependencies & Omit<VerdictDependencies, 'judgeToken'>) {
  const judgeToken = makeJudgeToken(dependencies)
  return {
    judgeToken,
    checkDpop,
    verifyBearer: makeVerifyBearer({ judgeToken, checkDpop, countUse }),
  }
}

/** A protected resource takes access tokens that are bound to this origin, and no others. */
export const ownAccessToken = {
  kinds: ['access'],
  unbound: false,
} as const satisfies ExpectedToken

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

type SentToken = Pick<TokenOfCaller, 'scheme' | 'value'>

async function judgeSent(
  sent: SentToken,
  request: BearerRequest,
  { judgeToken, checkDpop, countUse }: VerdictDependencies,
): Promise<Verdict> {
  const judged = await judgeToken(sent.value, ownAccessToken)
  if (judged.kind === 'worthless') {
    const offer = checkDpop && ({ dpop: 'offered' } as const)
    return { ...verdictOn(judged), ...offer }
  }
  const { fault, nextNonce } = await judgeBinding({ ...sent, ...judged }, request, checkDpop)
  if (fault) {
    const { clientId = '' } = judged.record
    return { kind: 'invalid', ...fault, clientId, dpop: 'demanded', nextNonce }
  }
  countUse(judged.access.grant.id)
  return { ...verdictOn(judged), ...(nextNonce && { nextNonce }) }
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

type Granted = Extract<Verdict, { kind: 'granted' }>
type Invalid = Extract<Verdict, { kind: 'invalid' }>

/** What follows from the judgement of a token, whether or not a key goes with it. */
export function verdictOn(judged: GoodToken): Granted
export function verdictOn(judged: WorthlessToken): Invalid
export function verdictOn(judged: GoodToken | WorthlessToken): Granted | Invalid {
  if (judged.kind === 'worthless') return { ...invalid(judged.reason), ...knownOf(judged) }
  return { kind: 'granted', token: bearerToken(judged) }
}

function readHeader(header: string, takesProofs: boolean): SentToken | undefined {
  const [, scheme = '', value] = /^(bearer|dpop) +([^ ]+)$/i.exec(header) ?? []
  const isDpop = scheme.toLowerCase() === 'dpop'
  if (value === undefined || (isDpop && !takesProofs)) return undefined
  return { scheme: isDpop ? 'DPoP' : 'Bearer', value }
}

function knownOf({ clientId, former }: WorthlessToken) {
  return { ...(clientId !== undefined && { clientId }), ...(former && { former }) }
}

function bearerToken({ record, scopes, access }: GoodToken): BearerToken {
  const { accountId: personId = '', clientId = '' } = record
  const { grant, person, roles } = access
  const bound = record['jkt'] !== undefined && ({ bound: true } as const)
  return { personId, clientId, siteId: grant.siteId, scopes, person, roles, ...bound }
}

function invalid(reason: string): Invalid {
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
