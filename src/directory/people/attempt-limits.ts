import { networkOf, wideNetworkOf } from '../../platform/limits/client-network.ts'
import type { LimitName } from '../../platform/limits/limit-table.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { sha256 } from '../../platform/store/digest.ts'

export type AttemptLimits = ReturnType<typeof makeAttemptLimits>

export interface Attempt {
  readonly login: string
  /** The client IP address. */
  readonly address: string
  /** The id of the browser, if it has signed in to the account before. */
  readonly browserId?: string | undefined
}

/** The limits to which an attempt was charged, with their keys. */
type Taken = readonly (readonly [LimitName, string])[]

type AttemptStart = { readonly taken: Taken } | { readonly waitSeconds: number }

type Counts = Pick<Limits, 'takeTogether' | 'giveBack' | 'exceeded' | 'count'>

/**
 * Creates the limits of sign-in attempts. Attempts are counted before the password check, so parallel guesses cannot
 * bypass the limits. Only failed attempts stay counted. A browser that has signed in to the account before has its own
 * limit, which attackers cannot exhaust. Other browsers are limited per network, per account and network, and per
 * account.
 *
 * If attackers exhaust the limit of an account, each wide network (IPv4 /24, IPv6 /48) still gets a few attempts from a
 * reserve of the account. So attackers need a large number of networks to lock a person out. Successful sign-ins are
 * limited per account too, so one person cannot occupy all hash threads.
 */
export function makeAttemptLimits(limits: Counts) {
  const takeAll = async (wanted: Taken): Promise<AttemptStart> => {
    for (const [name, key] of wanted) {
      // Charge the limits in sequence: once a limit is exceeded, the remaining limits must not be charged.
      const exceeded = await limits.takeTogether(name, key)
      if (exceeded) return { waitSeconds: exceeded.waitSeconds }
    }
    return { taken: wanted }
  }

  const beginUnknown = async ({ login, address }: Attempt): Promise<AttemptStart> => {
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
    /** Counts an attempt, or returns how long to wait if a limit is exceeded. */
    async begin(attempt: Attempt): Promise<AttemptStart> {
      const { login, browserId } = attempt
      const exceeded = limits.exceeded('signIns', sha256(login))
      if (exceeded) return { waitSeconds: exceeded.waitSeconds }
      if (browserId === undefined) return await beginUnknown(attempt)
      return await takeAll([['attemptsOfBrowser', `${sha256(login)}:${browserId}`]])
    },
    signedIn(login: string): void {
      limits.count('signIns', sha256(login))
    },
    /** Refunds an attempt that did not fail. */
    async giveBack(taken: Taken): Promise<void> {
      await Promise.all(taken.map(([name, key]) => limits.giveBack(name, key)))
    },
  }
}
