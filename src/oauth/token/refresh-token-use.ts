import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { AccessFacts, FindGrant } from '../grants/access.ts'
import type { Family } from '../grants/family-store.ts'
import { type FormerToken, familyOfFormer, findFormerToken } from './former-refresh-token.ts'
import type { TokenValues } from './token-values.ts'

/** A refresh token that somebody presents, with everything that is known of it. */
export interface FoundRefreshToken {
  readonly generation: number
  /** Of its grant and its family, and of the client that asks. */
  readonly facts: AccessFacts | undefined
  /** It is of the version before, and was not used since. */
  readonly former?: FormerToken | undefined
}

/** Finds a refresh token; nothing for what never was one. One query. */
export type FindRefreshToken = (
  value: string,
  callerId?: string,
) => Promise<FoundRefreshToken | undefined>

export interface RefreshTokenDependencies {
  readonly values: TokenValues
  readonly findGrant: FindGrant
  /** Where the version before kept its refresh tokens. */
  readonly former: Pick<StateAdapter, 'find' | 'consumeOnce'>
}

export function makeFindRefreshToken(dependencies: RefreshTokenDependencies): FindRefreshToken {
  const { values, findGrant, former } = dependencies
  return async (value, callerId) => {
    const read = values.readRefreshToken(value)
    if (read) {
      const facts = await findGrant({ familyId: read.familyId, callerId })
      const genuine = facts?.family && read.isGenuine(facts.family)
      return genuine ? { generation: read.generation, facts } : undefined
    }
    // Those of the version before had no dot, so that an access token is not looked up as one.
    if (value.includes('.')) return undefined
    const familyId = familyOfFormer(value)
    const facts = await findGrant({ familyId, callerId })
    if (facts) return { generation: 0, facts }
    const found = await findFormerToken(value, former)
    if (!found) return undefined
    const { grantId } = found
    return { generation: 0, facts: await findGrant({ grantId, callerId }), former: found }
  }
}

/** What a refresh token is worth, its grant apart. */
export type RefreshTokenUse =
  | { readonly kind: 'good' }
  /** It was replaced so shortly ago that the client cannot have got the answer (design 10). */
  | { readonly kind: 'retry'; readonly replacedAt: number }
  /** One of two holders is a thief (RFC 9700 §4.14.2). */
  | { readonly kind: 'reused' }
  | { readonly kind: 'lost'; readonly reason: string }

export interface RefreshTokenLifetimes {
  /** How long a token lives that nobody uses. */
  readonly refreshTokenSeconds: number
  /** How long all tokens of a family live, however often they are used. */
  readonly refreshTokenAbsoluteSeconds: number
  readonly refreshRetrySeconds: number
}

/** By which lifetimes, and when. */
export interface Judging {
  readonly lifetimes: RefreshTokenLifetimes
  readonly nowMs: number
}

/** Judges the token of a generation. Pure, so that every case stands in one table of its test. */
export function judgeGeneration(
  family: Family,
  generation: number,
  { lifetimes, nowMs }: Judging,
): RefreshTokenUse {
  if (family.ended) return { kind: 'lost', reason: 'the refresh token was revoked' }
  if (!family.token.refreshes) return { kind: 'lost', reason: 'the client may not refresh' }
  if (generation > family.generation) {
    return { kind: 'lost', reason: 'the database is older than the refresh token' }
  }
  if (generation < family.generation) {
    const replacedAt = family.steps.at(generation - family.generation)
    return replacedAt !== undefined && nowMs - replacedAt <= lifetimes.refreshRetrySeconds * 1000
      ? { kind: 'retry', replacedAt }
      : { kind: 'reused' }
  }
  return endOf(family, lifetimes) <= nowMs
    ? { kind: 'lost', reason: 'the refresh token has expired' }
    : { kind: 'good' }
}

/** When the present refresh token of a family ends if nobody uses it, in epoch milliseconds. */
export function endOf(
  { steps, startedAt }: Pick<Family, 'steps' | 'startedAt'>,
  { refreshTokenSeconds, refreshTokenAbsoluteSeconds }: RefreshTokenLifetimes,
): number {
  const issuedAt = steps.at(-1) ?? startedAt
  return Math.min(
    issuedAt + refreshTokenSeconds * 1000,
    startedAt + refreshTokenAbsoluteSeconds * 1000,
  )
}

/** More refreshes of one family than this within one retry window are no client's. */
const STEPS_MAX = 32

/**
 * The steps of a family after one more. Only those within the retry window can matter to a retry, so
 * that there is one where refreshes are rare, and never more than a constant number.
 */
export function stepsAfter(
  { steps }: Pick<Family, 'steps'>,
  { refreshRetrySeconds }: Pick<RefreshTokenLifetimes, 'refreshRetrySeconds'>,
  nowMs: number,
): number[] {
  const recent = steps.filter((step) => nowMs - step <= refreshRetrySeconds * 1000)
  return [...recent, nowMs].slice(-STEPS_MAX)
}
