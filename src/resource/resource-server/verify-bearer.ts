/** Verifies the access tokens of requests. `protect.ts` turns the verdicts into responses. */

import { type AssuranceDemand, isSensitive } from '../../directory/scopes/sensitive-operations.ts'
import type { CheckDpop, ProvenRequest } from '../../oauth/clients/proofs.ts'
import type { Oauth } from '../../oauth/oauth.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import type { Platform } from '../../platform/platform.ts'
import { type BindingFault, type DpopChallenge, judgeBinding, type SentToken } from './binding.ts'
import type { TokenJudges } from './judge-token.ts'

/**
 * The verdict on the token of a request. It is a value rather than an exception, because the caller decides how to
 * respond. Without a token, one endpoint rejects the request and another serves it (specification, Errors 5).
 */
export type Verdict =
  | { readonly kind: 'anonymous'; readonly dpop?: DpopChallenge }
  | Granted
  | {
      readonly kind: 'invalid'
      /** The reason, for the log. `description` is for the caller. */
      readonly reason: string
      readonly description: string
      /** The error code of a binding fault; `invalid_token` if undefined. */
      readonly error?: BindingFault['error']
      readonly dpop?: DpopChallenge
      readonly nextNonce?: string | undefined
      /** The rejected token, if it is known. */
      readonly token?: AccessToken | undefined
    }
  | {
      readonly kind: 'insufficient'
      readonly token: AccessToken
      /** All scopes of the operation, not only the missing ones (RFC 6750 §3.1). */
      readonly needed: readonly string[]
      /** Whether any one of these scopes suffices. */
      readonly oneIsEnough: boolean
    }
  /** The person must sign in again with two factors (RFC 9470). */
  | { readonly kind: 'step-up'; readonly token: AccessToken; readonly demand: AssuranceDemand }
  /** The check failed, for example because a store did not respond (specification, Errors 7). */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export interface Granted {
  readonly kind: 'granted'
  readonly token: AccessToken
  readonly nextNonce?: string | undefined
}

/** Dependencies shared by all resource-server routes. */
export interface ResourceParts {
  readonly platform: Platform
  readonly oauth: Oauth
  /** The token checks that all endpoints share. */
  readonly verdicts: TokenJudges & {
    readonly verifyBearer: VerifyBearer
    readonly countUse: (grantId: string) => void
  }
  readonly baseUrl: string
  readonly resourceMetadataUrl: string
}

/** Judges the token of a request, and counts its use if granted. Turns errors into the verdict `unavailable`. */
export type VerifyBearer = (
  request: Omit<ProvenRequest, 'accessToken'> & { readonly authorization: readonly string[] },
) => Promise<Verdict>

/** The error description for an unusable token. The log has the exact reason. */
export const TOKEN_REFUSED =
  'the access token is malformed, expired or revoked, or was not issued for this service; request a ' +
  'token with the resource parameter at both the authorization and the token endpoint'

/** The error description for a missing token, where a token is required. */
export const TOKEN_REQUIRED = 'an access token is required; send it in the Authorization header'

/** Creates the function that verifies bearer and DPoP tokens. @param checkDpop undefined if DPoP is disabled */
export function makeVerifyBearer(
  judgeAccessToken: TokenJudges['judgeAccessToken'],
  checkDpop: CheckDpop | undefined,
  countUse: (grantId: string) => void,
): VerifyBearer {
  const offer = checkDpop && ({ dpop: 'offered' } as const)
  return async (request) => {
    const sent = readToken(request.authorization, checkDpop !== undefined)
    if ('kind' in sent) return { ...sent, ...offer }
    try {
      // Accept only tokens for this origin.
      const judged = await judgeAccessToken(sent.value, { unbound: false })
      if (judged.kind === 'worthless') return { ...reject(judged.reason, judged.token), ...offer }
      const { token } = judged
      const { fault, nextNonce } = await judgeBinding({ ...sent, token }, request, checkDpop)
      if (fault) return { kind: 'invalid', ...fault, token, dpop: 'demanded', nextNonce }
      countUse(token.grant.id)
      return { kind: 'granted', token, ...(nextNonce !== undefined && { nextNonce }) }
    } catch (cause) {
      return { kind: 'unavailable', cause }
    }
  }
}

/** Reads the access token from the Authorization header. Returns a verdict if the header is missing or malformed. */
export function readToken(
  authorization: readonly string[],
  dpopEnabled: boolean,
): SentToken | { readonly kind: 'anonymous' } | Invalid {
  const [header] = authorization
  if (header === undefined) return { kind: 'anonymous' }
  if (authorization.length > 1)
    return reject('the request has several Authorization headers; send one')
  const [, scheme = '', value] = /^(bearer|dpop) +([^ ]+)$/i.exec(header) ?? []
  const isDpop = scheme.toLowerCase() === 'dpop'
  if (value === undefined || (isDpop && !dpopEnabled)) {
    return reject('the Authorization header has no Bearer token')
  }
  return { scheme: isDpop ? 'DPoP' : 'Bearer', value }
}

type Invalid = Extract<Verdict, { kind: 'invalid' }>

/** Creates an `invalid` verdict. @param reason for the log @param token the rejected token, if it is known */
export function reject(reason: string, token?: AccessToken): Invalid {
  return { kind: 'invalid', reason, description: TOKEN_REFUSED, token }
}

/**
 * Turns `granted` into `insufficient` unless the token has one of `sufficient` or, by default, all of `needed`. Without
 * `sufficient`, turns it into `step-up` if the scopes or operations are sensitive and need a stronger sign-in.
 */
export function demandScopes(
  verdict: Verdict,
  needed: readonly string[],
  {
    sufficient,
    operations = [],
  }: { sufficient?: readonly string[]; operations?: readonly string[] } = {},
): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  const isHeld = (scope: string) => token.scopes.includes(scope)
  if (sufficient?.some(isHeld)) return verdict
  if (!sufficient && needed.every(isHeld)) {
    const { unmetDemand: demand } = token
    return demand && isSensitive(demand, needed, operations)
      ? { kind: 'step-up', token, demand }
      : verdict
  }
  return { kind: 'insufficient', token, needed, oneIsEnough: sufficient !== undefined }
}
