import type { ServicePolicy } from '../../config/config.ts'
import type { Family } from '../grants/family-store.ts'

/** The verdict on a use of a refresh token, regardless of its grant. */
export type RefreshTokenUse =
  | { readonly kind: 'good' }
  /** The token was replaced a moment ago. The client may have missed the response (design 10). */
  | { readonly kind: 'retry'; readonly replacedAt: number }
  /** The token was replaced too long ago for a retry, so it was probably stolen (RFC 9700 §4.14.2). */
  | { readonly kind: 'reused' }
  | { readonly kind: 'lost'; readonly reason: string }

export type Lifetimes = ServicePolicy['lifetimes']

/** The properties of a refresh token that decide whether it may be used. */
interface UsedToken {
  readonly family: Family
  readonly generation: number
  /** Whether the grant has no absolute expiry (design 9). */
  readonly isEndless?: boolean
}

/** Judges a use of a refresh token. A pure function, tested with a table of cases. */
export function judgeGeneration(
  token: UsedToken,
  { lifetimes, nowMs }: { readonly lifetimes: Lifetimes; readonly nowMs: number },
): RefreshTokenUse {
  const { family, generation } = token
  if (family.ended) return { kind: 'lost', reason: 'the refresh token was revoked' }
  if (!family.token.refreshes) return { kind: 'lost', reason: 'no refresh token was issued' }
  if (generation > family.generation) {
    return { kind: 'lost', reason: 'the database is older than the token, likely after a restore' }
  }
  if (generation < family.generation) {
    const replacedAt = family.steps.at(generation - family.generation)
    return replacedAt !== undefined && nowMs - replacedAt <= lifetimes.refreshRetrySeconds * 1000
      ? { kind: 'retry', replacedAt }
      : { kind: 'reused' }
  }
  return expiryOf(token, lifetimes) <= nowMs
    ? { kind: 'lost', reason: 'the refresh token has expired' }
    : { kind: 'good' }
}

/** Returns when the family's current refresh token expires if unused, in epoch milliseconds. */
export function expiryOf(
  { family: { steps, startedAt }, isEndless }: Pick<UsedToken, 'family' | 'isEndless'>,
  { refreshTokenSeconds, refreshTokenAbsoluteSeconds }: Lifetimes,
): number {
  const idleEnd = (steps.at(-1) ?? startedAt) + refreshTokenSeconds * 1000
  return isEndless ? idleEnd : Math.min(idleEnd, startedAt + refreshTokenAbsoluteSeconds * 1000)
}

/** The maximum number of start times in `steps`. No honest client refreshes more often within one retry window. */
const STEPS_MAX = 32

/** Adds the start time of a generation. Keeps only the latest times, and only those within the retry window. */
export function stepsAfter(
  { steps }: Pick<Family, 'steps'>,
  { refreshRetrySeconds }: Pick<Lifetimes, 'refreshRetrySeconds'>,
  nowMs: number,
): number[] {
  const recent = steps.filter((step) => nowMs - step <= refreshRetrySeconds * 1000)
  return [...recent, nowMs].slice(-STEPS_MAX)
}
