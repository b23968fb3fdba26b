import { networkOf, wideNetworkOf } from '../../platform/limits/client-network.ts'
import type { LimitName } from '../../platform/limits/limit-table.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { sha256 } from '../../platform/store/digest.ts'

export type AttemptLimits = ReturnType<typeof makeAttemptLimits>

export interface Attempt {
  readonly login: string
  /** The client IP address. */
  readonly address: string
  /** The id of a browser that has signed in to the account before. */
  readonly browserId?: string | undefined
}

/** The limits that an attempt was charged to. If the attempt does not fail, their points are returned. */
type Taken = readonly (readonly [LimitName, string])[]

export type Begun = { readonly taken: Taken } | { readonly waitSeconds: number }

type Counts = Pick<Limits, 'takeTogether' | 'giveBack' | 'exceeded' | 'count'>

/**
 * Limits failed sign-ins. Attempts are counted before the password check, so parallel guesses cannot bypass the
 * limits. The charge is undone if the sign-in succeeds, or if no password was checked. A browser that has signed in
 * before has its own limit, which attackers cannot exhaust. For other browsers, three limits apply: failures per
 * network, per account and network, and per account. If attackers exhaust the limit of an account, networks without
 * failures for it still get a few reserved attempts. So locking someone out of new browsers takes ever more unrelated
 * networks. Successful sign-ins are limited per account, so one person cannot occupy all hash threads.
 */
export function makeAttemptLimits(limits: Counts) {
  const takeAll = async (wanted: Taken): Promise<Begun> => {
    for (const [name, key] of wanted) {
      // Charge the limits in sequence, because an exceeded limit must not charge those after it.
      const exceeded = await limits.takeTogether(name, key)
      if (exceeded) return { waitSeconds: exceeded.waitSeconds }
    }
    return { taken: wanted }
  }

  const ofStranger = async ({ login, address }: Attempt): Promise<Begun> => {
    const account = sha256(login)
    const network = networkOf(address)
    // If the network's limit is exhausted, do not charge the limits of the account.
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
    /** Counts an attempt. If a limit is exceeded, returns how long to wait. */
    async begin(attempt: Attempt): Promise<Begun> {
      const { login, browserId } = attempt
      const exceeded = limits.exceeded('signIns', sha256(login))
      if (exceeded) return { waitSeconds: exceeded.waitSeconds }
      if (browserId === undefined) return await ofStranger(attempt)
      return await takeAll([['attemptsOfBrowser', `${sha256(login)}:${browserId}`]])
    },
    /** Counts a successful sign-in. */
    signedIn(login: string): void {
      limits.count('signIns', sha256(login))
    },
    /** Undoes the count of an attempt that did not fail. */
    async giveBack(taken: Taken): Promise<void> {
      await Promise.all(taken.map(([name, key]) => limits.giveBack(name, key)))
    },
  }
}
