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

/** A limit against which an attempt was counted, and its key. */
type Charge = readonly [limit: LimitName, key: string]

type AttemptStart = { readonly taken: readonly Charge[] } | { readonly waitSeconds: number }

type Counts = Pick<Limits, 'takeTogether' | 'giveBack' | 'exceeded' | 'count'>

/**
 * Creates the limits for sign-in attempts. Attempts are counted before the password check, so parallel guesses cannot
 * bypass the limits. Only failed attempts stay counted. A browser that has signed in to the account before has its own
 * limit, which other browsers cannot exhaust. Those are limited per network, per account, and per account and network.
 *
 * If attackers exhaust the limit of an account, each wide network (IPv4 /24, IPv6 /48) still gets a few attempts from a
 * reserve for the account. So attackers need a large number of networks to lock a person out. Successful sign-ins are
 * limited per account too, so one person cannot occupy all hash threads.
 */
export function makeAttemptLimits(limits: Counts) {
  return {
    /** Counts an attempt, or returns how long to wait if a limit is exceeded. */
    async begin({ login, address, browserId }: Attempt): Promise<AttemptStart> {
      const account = sha256(login)
      const taken: Charge[] = []
      // Charge the limits in sequence: once a limit is exceeded, the remaining limits must not be charged.
      const take = async (...charge: Charge) => {
        const exceeded = await limits.takeTogether(...charge)
        if (!exceeded) taken.push(charge)
        return exceeded
      }
      const takeAsUnknown = async () => {
        const network = networkOf(address)
        const near =
          // If the network's limit is exhausted, do not charge the limits of the account.
          limits.exceeded('attemptsOfAddress', network) ??
          (await take('attemptsOfPair', `${account}:${network}`)) ??
          (await take('attemptsOfAddress', network))
        if (near) return near
        const wide = ['attemptsFromAfar', `${account}:${wideNetworkOf(address)}`] as const
        const isFresh = (await limits.takeTogether(...wide)) === undefined
        taken.push(wide)
        const exceeded = await take('attemptsOfAccount', account)
        return exceeded && isFresh ? await take('reservedAttempts', account) : exceeded
      }
      const takeAsKnown = async () => await take('attemptsOfBrowser', `${account}:${browserId}`)
      const exceeded =
        limits.exceeded('signIns', account) ??
        (await (browserId === undefined ? takeAsUnknown() : takeAsKnown()))
      return exceeded ? { waitSeconds: exceeded.waitSeconds } : { taken }
    },
    signedIn(login: string): void {
      limits.count('signIns', sha256(login))
    },
    /** Refunds an attempt that did not fail. */
    async giveBack(taken: readonly Charge[]): Promise<void> {
      await Promise.all(taken.map((charge) => limits.giveBack(...charge)))
    },
  }
}
