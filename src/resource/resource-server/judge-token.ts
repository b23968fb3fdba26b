import { usedTwoFactors } from '../../directory/people/authentication.ts'
import { canBeClientId } from '../../oauth/clients/client.ts'
import { judgeAccess } from '../../oauth/grants/judge-access.ts'
import { judgeGeneration, type Lifetimes } from '../../oauth/token/refresh-token-use.ts'
import type { AccessToken, FindToken, RefreshToken, Tokens } from '../../oauth/token/tokens.ts'

export type Judged<Token = AccessToken> =
  | { readonly kind: 'good'; readonly token: Token }
  | WorthlessToken<Token>

/** An unusable token. The reason is for the log and for the operator of the client. */
export interface WorthlessToken<Token = AccessToken> {
  readonly kind: 'worthless'
  readonly reason: string
  /** The token; undefined if it is malformed or forged, or if its family has been deleted. */
  readonly token?: Token
}

interface JudgeSettings {
  readonly lifetimes: Lifetimes
  /** The only accepted audience: the origin of this service. */
  readonly audience: string
  readonly now: () => number
}

interface ExpectedToken {
  /** Whether to accept a token without a resource, for example from a plain sign-in. */
  readonly unbound: boolean
  /** The client that authenticates with the request. The query for the token also reads the version of this client. */
  readonly callerId?: string | undefined
}

export type TokenJudges = ReturnType<typeof makeTokenJudges>

// Values that are too long, or do not have the format of a bearer token (RFC 6750 §2.1), are rejected without a query.
const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/
const TOKEN_LENGTH_MAX = 256

/** Creates the functions that judge presented tokens. Each lookup runs at most one query. Nothing is cached. */
export function makeTokenJudges(
  { findAccessToken, findRefreshToken }: Pick<Tokens, 'findAccessToken' | 'findRefreshToken'>,
  settings: JudgeSettings,
) {
  const judge = async <Token extends AccessToken | RefreshToken>(
    value: string,
    finders: readonly FindToken<Token>[],
    { unbound, callerId }: ExpectedToken,
  ): Promise<Judged<Token>> => {
    if (value.length > TOKEN_LENGTH_MAX || !tokenForm.test(value)) {
      return { kind: 'worthless', reason: 'the token is malformed' }
    }
    const caller = canBeClientId(callerId ?? '') ? callerId : undefined
    for (const find of finders) {
      const token = await find(value, caller)
      if (!token) continue
      const reason = reasonAgainst(token, { ...settings, unbound, nowMs: settings.now() })
      return reason === undefined
        ? { kind: 'good', token: withUnmetDemand(token, settings.now()) }
        : { kind: 'worthless', reason, token }
    }
    const reason = 'the token is unknown: it was never issued, or its record was removed'
    return { kind: 'worthless', reason }
  }
  return {
    judgeAccessToken: async (value: string, expected: ExpectedToken) =>
      await judge(value, [findAccessToken], expected),
    /** Judges a token of either kind. Its format shows the kind, so no hint is needed (RFC 7662 §2.1). */
    judgeAnyToken: async (value: string, callerId: string | undefined) => {
      const finders = [findAccessToken, findRefreshToken]
      return await judge<AccessToken | RefreshToken>(value, finders, { unbound: true, callerId })
    },
  }
}

/** Adds the site's demand for two factors as `unmetDemand`, unless the person used two factors recently enough. */
function withUnmetDemand<Token extends AccessToken | RefreshToken>(token: Token, nowMs: number) {
  const { assuranceDemand: unmetDemand, family } = token
  if (!unmetDemand) return token
  const isMet = usedTwoFactors(family.token, unmetDemand.maxAgeSeconds, nowMs)
  return isMet ? token : { ...token, unmetDemand }
}

type Judging = JudgeSettings & { readonly unbound: boolean; readonly nowMs: number }

function reasonAgainst(token: AccessToken | RefreshToken, judging: Judging): string | undefined {
  const { nowMs } = judging
  if (token.expiresAt * 1000 <= nowMs) return 'the token has expired'
  const reason =
    token.kind === 'refresh' ? problemOfUse(token, judging) : problemOfAudience(token, judging)
  const problem = reason ?? judgeAccess(token, token.scopes, nowMs)
  return problem ?? (token.family.ended ? 'the token was revoked' : undefined)
}

function problemOfUse(token: RefreshToken, judging: Judging): string | undefined {
  const use = judgeGeneration(token, judging)
  if (use.kind === 'lost') return use.reason
  return use.kind === 'good' ? undefined : 'the refresh token was replaced'
}

function problemOfAudience(token: AccessToken, { audience, unbound }: Judging): string | undefined {
  if (token.audience === audience) return undefined
  if (token.audience !== undefined) return 'the token was issued for another origin'
  return unbound
    ? undefined
    : `the token was requested without the resource parameter: send resource=${audience} at both the authorization and the token endpoint`
}
