import { networkOf, wideNetworkOf } from '../../platform/limits/client-network.ts'
import type { LimitName } from '../../platform/limits/limit-table.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { sha256 } from '../../platform/store/digest.ts'

export type AttemptLimits = ReturnType<typeof makeAttemptLimits>

export interface Attempt {
  readonly login: string
  /** The client IP. */
  readonly address: string
  /** The id of a browser that signed in to the account before. */
  readonly browserId?: string | undefined
}

/** The limits that count an attempt; given back unless it fails. */
type Taken = readonly (readonly [LimitName, string])[]

export type Begun = { readonly taken: Taken } | { readonly waitSeconds: number }

type Counts = Pick<Limits, 'takeTogether' | 'giveBack' | 'exceeded' | 'count'>

/**
 * Limits failed sign-ins. Counts an attempt before the password check, so that parallel guesses do not slip
 * through, and gives it back on success or if nothing was checked.
 *
 * A browser that signed in before has its own limit, which attackers cannot exhaust. For other browsers, three
 * limits apply: failures of an address, of an account from an address, and of an account. When attackers
 * exhaust the limit of an account, a wide network without failures for it may still try from a reserve.
 * Locking a person out of a new browser thus takes ever more unrelated networks.
 *
 * Successful sign-ins are limited by account, so that one person cannot occupy every hash thread.
 */
export function makeAttemptLimits(limits: Counts) {
  const takeAll = async (wanted: Taken): Promise<Begun> => {
    for (const [name, key] of wanted) {
      // One by one: an exceeded limit must not charge the limits after it.
      const exceeded = await limits.takeTogether(name, key)
      if (exceeded) return { waitSeconds: exceeded.waitSeconds }
    }
    return { taken: wanted }
  }

  const ofStranger = async ({ login, address }: Attempt): Promise<Begun> => {
    const account = sha256(login)
    const network = networkOf(address)
    // An exhausted address does not charge the limits of the account.
    const exceeded = limits.exceeded('attemptsOfAddress', network)
    if (exceeded) return { waitSeconds: exceeded.waitSeconds }
    const near = await takeAll([
      ['attemptsOfPair', `${account}:${network}`],
      ['attemptsOfAddress', network],
    ])
    if ('waitSeconds' in near) return near
    const wide = ['attemptsFromAfar', `${account}:${wideNetworkOf(address)}`] as const
    const isFresh = (await limits.takeTogether(...wide)) === undefined
    const ofAccount = await takeAll([['attemptsOfAccount', account]])
    if ('taken' in ofAccount) return { taken: [...near.taken, wide, ...ofAccount.taken] }
    if (!isFresh) return ofAccount
    const reserved = await takeAll([['reservedAttempts', account]])
    if ('waitSeconds' in reserved) return reserved
    return { taken: [...near.taken, wide, ...reserved.taken] }
  }

  return {
    /** Counts an attempt, or returns how long to wait. */
    async begin(attempt: Attempt): Promise<Begun> {
      const { login, browserId } = attempt
      const exceeded = limits.exceeded('signIns', sha256(login))
      if (exceeded) return { waitSeconds: exceeded.waitSeconds }
      if (browserId === undefined) return await ofStranger(attempt)
      return await takeAll([['attemptsOfBrowser', `${sha256(login)}:${browserId}`]])
    },
    /** Counts a sign-in. */
    signedIn(login: string): void {
      limits.count('signIns', sha256(login))
    },
    /** Undoes the count of an attempt that did not fail. */
    async giveBack(taken: Taken): Promise<void> {
      await Promise.all(taken.map(([name, key]) => limits.giveBack(name, key)))
    },
  }
}
