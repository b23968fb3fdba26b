import { networkOf, wideNetworkOf } from '../../platform/limits/client-network.ts'
import type { LimitName } from '../../platform/limits/limit-table.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { sha256 } from '../../platform/store/digest.ts'

export type AttemptLimits = ReturnType<typeof makeAttemptLimits>

export interface Attempt {
  readonly login: string
  /** The caller's network address. */
  readonly address: string
  /** Of a browser in which the account was signed in before. */
  readonly browserId?: string | undefined
}

/** What an attempt took, and is given back when it was no failure. */
type Taken = readonly (readonly [LimitName, string])[]

export type Begun = { readonly taken: Taken } | { readonly waitSeconds: number }

type Counts = Pick<Limits, 'takeTogether' | 'giveBack' | 'exceeded' | 'count'>

/**
 * Bounds failed sign-ins. An attempt is counted before the password is checked, so that parallel
 * guesses cannot slip past, and given back when it succeeds or nothing was checked.
 *
 * A browser in which the account was signed in before has a count of its own, and nothing that strangers
 * do is of any weight there. Of all others are bounded the failures of one address, of one account from
 * one address, and of one account. When strangers have used those of the account up, attempts from a
 * wide network that has not failed with it are let through for a while longer: who keeps a person out of
 * a new browser needs ever more networks that have nothing in common, and never keeps them out of their own.
 *
 * Who has the password is bounded by account, too: one person who signs in without an end would leave the
 * others no turn.
 */
export function makeAttemptLimits(limits: Counts) {
  const takeAll = async (wanted: Taken): Promise<Begun> => {
    for (const [name, key] of wanted) {
      // One after the other, so that what is refused counts for nothing behind it.
      const exceeded = await limits.takeTogether(name, key)
      if (exceeded) return { waitSeconds: exceeded.waitSeconds }
    }
    return { taken: wanted }
  }

  const ofStranger = async ({ login, address }: Attempt): Promise<Begun> => {
    const account = sha256(login)
    const network = networkOf(address)
    // Nothing is counted of an account for an address that has nothing left.
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
    /** What was taken when the attempt may go on, and else how long to wait. */
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
    /** It was no failure, or no password was checked: the attempt is not counted as one. */
    async giveBack(taken: Taken): Promise<void> {
      await Promise.all(taken.map(([name, key]) => limits.giveBack(name, key)))
    },
  }
}
