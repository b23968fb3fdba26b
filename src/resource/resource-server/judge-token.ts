import type { AdapterPayload } from 'oidc-provider'

import { type Access, type AccessFacts, judgeToken } from '../../oauth/grants/access.ts'
import { type AccessTokens, isPastEnd } from '../../oauth/token/access-token.ts'
import { recordOf } from '../../oauth/token/refresh-token-record.ts'
import type {
  FindRefreshToken,
  RefreshTokenLifetimes,
} from '../../oauth/token/refresh-token-use.ts'

export type GoodAccess = Extract<Access, { kind: 'good' }>

/** A token that may be used, as the store and the database know it now. */
export interface GoodToken extends LookedUp {
  readonly kind: 'good'
  readonly tokenKind: TokenKind
  /** What was written down when it was issued. */
  readonly record: AdapterPayload
  readonly scopes: ReadonlySet<string>
  readonly access: GoodAccess
}

/** A token that works nowhere. Why is for the log, and for the operator of the client. */
export interface WorthlessToken extends LookedUp {
  readonly kind: 'worthless'
  readonly reason: string
  /** Whose token it is, and what it opened, when it is known at all. */
  readonly clientId?: string | undefined
  readonly former?: ReadonlySet<string>
}

interface LookedUp {
  /** The version of the client that asks, where the look at the grant has told it. */
  readonly callerVersion?: number | undefined
}

export type TokenKind = 'access' | 'refresh'

/** Which tokens a caller is told about. */
export interface ExpectedToken {
  /** In the order in which they are looked for. */
  readonly kinds: readonly TokenKind[]
  /** Whether a token that is bound to no resource is good too: that of a plain sign-in is such. */
  readonly unbound: boolean
  /** The client that asks, where one has to authenticate: its version comes with the same query. */
  readonly callerId?: string
}

export interface JudgeDependencies {
  readonly accessTokens: AccessTokens
  readonly findRefreshToken: FindRefreshToken
  readonly lifetimes: RefreshTokenLifetimes
  /** The audience of every token that is bound to this origin. */
  readonly audience: string
  readonly now: () => number
}

/**
 * What a token is worth: the one judgement for UserInfo, introspection, the Member API and the tool
 * endpoint. It is reached anew at every use, and nothing of it is kept.
 */
export type JudgeToken = (
  value: string,
  expected: ExpectedToken,
) => Promise<GoodToken | WorthlessToken>

/** RFC 6750 §2.1. Anything else is worth no look at a store, nor is what is longer than any of ours. */
const tokenForm = /^[A-Za-z0-9._~+/-]+=*$/
const TOKEN_LENGTH_MAX = 256

/** One storage round trip for a token of ours, whatever became of it. */
export function makeJudgeToken(dependencies: JudgeDependencies): JudgeToken {
  const { audience, now } = dependencies
  const finders = makeFinders(dependencies)
  return async (value, { kinds, unbound, callerId }) => {
    if (value.length > TOKEN_LENGTH_MAX || !tokenForm.test(value)) {
      return worthless('the token has no form of ours')
    }
    const found = await findFirst(kinds, (kind) => finders[kind](value, callerId))
    if (!found)
      return worthless('the token is unknown: never issued, or gone with its grant or long ago')
    const { tokenKind, record, facts } = found
    const nowMs = now()
    const scopes = new Set(record.scope?.split(' '))
    const { clientId } = record
    const known = { clientId, former: scopes, callerVersion: facts?.callerVersion }
    const problem = problemOf(found, { audience, unbound, nowMs })
    if (problem !== undefined) return worthless(problem, known)
    const access = judgeToken(facts, record, { scopes, nowMs })
    return access.kind === 'lost'
      ? worthless(access.reason, known)
      : { kind: 'good', tokenKind, record, scopes, access, callerVersion: known.callerVersion }
  }
}

interface Found {
  readonly record: AdapterPayload
  readonly facts: AccessFacts | undefined
}

type Finder = (value: string, callerId: string | undefined) => Promise<Found | undefined>

function makeFinders({
  accessTokens,
  findRefreshToken,
  lifetimes,
  now,
}: JudgeDependencies): Readonly<Record<TokenKind, Finder>> {
  return {
    access: accessTokens.find,
    async refresh(value, callerId) {
      const found = await findRefreshToken(value, callerId)
      const record = found && recordOf(value, found, { lifetimes, nowMs: now() })
      return record && { record, facts: found.facts }
    },
  }
}

interface FoundToken extends Found {
  readonly tokenKind: TokenKind
}

async function findFirst(
  kinds: readonly TokenKind[],
  find: (kind: TokenKind) => Promise<Found | undefined>,
): Promise<FoundToken | undefined> {
  for (const tokenKind of kinds) {
    const found = await find(tokenKind)
    if (found) return { ...found, tokenKind }
  }
  return undefined
}

function problemOf(
  { record, tokenKind }: FoundToken,
  {
    audience,
    unbound,
    nowMs,
  }: Pick<ExpectedToken, 'unbound'> &
    Pick<JudgeDependencies, 'audience'> & {
      readonly nowMs: number
    },
): string | undefined {
  if (isPastEnd(record, nowMs)) return 'the token has expired'
  // A refresh token is of use here only, and says in another way what its tokens will be bound to.
  if (tokenKind === 'refresh') return record['consumed'] ? 'the refresh token was used' : undefined
  if (record.aud === audience) return undefined
  if (record.aud !== undefined) return 'the token was issued for another origin'
  return unbound
    ? undefined
    : `the token was asked for without resource: send resource=${audience} at the authorization and at the token endpoint`
}

function worthless(
  reason: string,
  known: Pick<WorthlessToken, 'clientId' | 'former' | 'callerVersion'> = {},
): WorthlessToken {
  return { kind: 'worthless', reason, ...known }
}
