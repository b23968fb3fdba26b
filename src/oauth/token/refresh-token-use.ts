import type { Family } from '../grants/family-store.ts'

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

/** Judges the token of a generation. Pure, so that every case stands in one table of its test. */
export function judgeGeneration(
  family: Family,
  generation: number,
  { lifetimes, nowMs }: { readonly lifetimes: RefreshTokenLifetimes; readonly nowMs: number },
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
