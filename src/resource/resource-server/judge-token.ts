import { judgeAccess } from '../../oauth/grants/access.ts'
import { judgeGeneration, type RefreshTokenLifetimes } from '../../oauth/token/refresh-token-use.ts'
import type {
  AccessToken,
  FindAccessToken,
  FindRefreshToken,
  FindToken,
  RefreshToken,
} from '../../oauth/token/tokens.ts'

/** What a token is worth now. */
export type Judged<Token = AccessToken> =
  | { readonly kind: 'good'; readonly token: Token }
  | WorthlessToken<Token>

/** A token that works nowhere. The reason is for the log, and for the operator of the client. */
export interface WorthlessToken<Token = AccessToken> {
  readonly kind: 'worthless'
  readonly reason: string
  /** Undefined for what was never issued here, or is gone. */
  readonly token?: Token
}

export interface JudgeDependencies {
  readonly findAccessToken: FindAccessToken
  readonly findRefreshToken: FindRefreshToken
  readonly lifetimes: RefreshTokenLifetimes
  /** The audience of every token that is bound to this origin. */
  readonly audience: string
  readonly now: () => number
}

/** Which access tokens a caller takes. */
export interface ExpectedToken {
  /** Whether a token that is bound to no resource is good too: that of a plain sign-in is such. */
  readonly unbound: boolean
  /** The client that asks, where one has to authenticate: its version comes with the same query. */
  readonly callerId?: string | undefined
}

/**
 * What a token is worth: the one judgement for UserInfo, introspection, the Member API and the tool
 * endpoint. It is reached anew at every use, and nothing of it is kept. One query for a token of ours.
 */
export type JudgeAccessToken = (value: string, expected: ExpectedToken) => Promise<Judged>

/** The same for a token of either kind; the one that is named is looked for first (RFC 7662 §2.1). */
export type JudgeAnyToken = (
  value: string,
  first: 'access' | 'refresh',
  callerId: string | undefined,
) => Promise<Judged<AccessToken | RefreshToken>>

/** RFC 6750 §2.1. Anything else is worth no look at a store, nor is what is longer than any of ours. */
const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/
const TOKEN_LENGTH_MAX = 256

export function makeTokenJudges(dependencies: JudgeDependencies): {
  readonly judgeAccessToken: JudgeAccessToken
  readonly judgeAnyToken: JudgeAnyToken
} {
  const { findAccessToken, findRefreshToken, now } = dependencies
  const judge = async <Token extends AccessToken | RefreshToken>(
    value: string,
    finders: readonly FindToken<Token>[],
    { unbound, callerId }: ExpectedToken,
  ): Promise<Judged<Token>> => {
    if (value.length > TOKEN_LENGTH_MAX || !tokenForm.test(value)) {
      return { kind: 'worthless', reason: 'the token has no form of ours' }
    }
    for (const find of finders) {
      const token = await find(value, callerId)
      if (!token) continue
      const reason = reasonAgainst(token, { ...dependencies, unbound, nowMs: now() })
      return reason === undefined ? { kind: 'good', token } : { kind: 'worthless', reason, token }
    }
    const reason = 'the token is unknown: never issued, or gone with its grant or long ago'
    return { kind: 'worthless', reason }
  }
  const inOrder = {
    access: [findAccessToken, findRefreshToken],
    refresh: [findRefreshToken, findAccessToken],
  }
  return {
    judgeAccessToken: async (value, expected) => await judge(value, [findAccessToken], expected),
    judgeAnyToken: async (value, first, callerId) =>
      await judge<AccessToken | RefreshToken>(value, inOrder[first], { unbound: true, callerId }),
  }
}

/** By what a token is judged. */
interface Judging extends Pick<JudgeDependencies, 'audience' | 'lifetimes'> {
  readonly unbound: boolean
  readonly nowMs: number
}

function reasonAgainst(token: AccessToken | RefreshToken, judging: Judging): string | undefined {
  const { nowMs } = judging
  if (token.expiresAt * 1000 <= nowMs) return 'the token has expired'
  const reason =
    token.kind === 'refresh' ? lossByUse(token, judging) : lossByAudience(token, judging)
  const lost = reason ?? judgeAccess(token, token.scopes, nowMs)
  if (lost !== undefined) return lost
  return token.family.ended ? 'the token was revoked with its family' : undefined
}

function lossByUse(
  { family, generation }: RefreshToken,
  { lifetimes, nowMs }: Judging,
): string | undefined {
  const use = judgeGeneration(family, generation, { lifetimes, nowMs })
  return use.kind === 'good' ? undefined : 'the refresh token was used'
}

function lossByAudience(token: AccessToken, { audience, unbound }: Judging): string | undefined {
  if (token.audience === audience) return undefined
  if (token.audience !== undefined) return 'the token was issued for another origin'
  return unbound
    ? undefined
    : `the token was asked for without resource: send resource=${audience} at the authorization and at the token endpoint`
}
