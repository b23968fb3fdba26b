import { sha256 } from '../store/digest.ts'
import type { SharedCounts, Sum } from '../store/shared-counts.ts'
import { type LimitInForce, type LimitName, limitsInForce } from './limit-table.ts'
import { type Count, WindowCounts } from './window-counts.ts'

/** An exceeded limit, and how long to wait. */
export interface Exceeded {
  readonly limit: LimitInForce
  /** Seconds until the window ends; at least 1. */
  readonly waitSeconds: number
}

export type Limits = ReturnType<typeof makeLimits>

/** How often processes exchange their counts. */
export const EXCHANGE_SECONDS = 1
/**
 * The share of a limit below which a process does not report counts. Most callers stay below this share, so exchanges
 * stay small. The points that sixteen processes leave unreported for a key add up to less than the limit.
 */
const UNREPORTED_SHARE = 1 / 16
/** The maximum number of counts per exchange; the rest wait for the next exchange. */
const EXCHANGED_MAX = 1000
/** The maximum length of a key. A longer key is replaced by its digest. */
const KEY_CHARACTERS_MAX = 120

interface Counted {
  readonly limit: LimitInForce
  readonly counts: WindowCounts
  /** The counts to report in the next exchange. */
  readonly unreported: Map<string, Count>
}

interface LimitParts {
  /** The content of config/service.json, with the maximums. */
  readonly policy: object
  /** The counts that processes share; undefined for a process that counts alone. */
  readonly shared: SharedCounts | undefined
  readonly now: () => number
}

/**
 * Creates the request limits of this process. Requests are checked against counts in memory, which `exchange` and
 * `takeTogether` adjust to the totals of all processes. So limits still apply when the store is down.
 */
export function makeLimits({ policy, shared, now }: LimitParts) {
  const counted = Object.fromEntries(
    Object.entries(limitsInForce(policy)).map(([name, limit]) => {
      const counts = new WindowCounts(limit.windowSeconds * 1000, now)
      return [name, { limit, counts, unreported: new Map<string, Count>() }]
    }),
  ) as Record<LimitName, Counted>

  /** Returns the limit if it has no points left. Charges nothing. */
  const exceeded = (name: LimitName, key: string): Exceeded | undefined => {
    const { limit, counts } = counted[name]
    const found = counts.find(bounded(key))
    if (!found || found.points < limit.max) return undefined
    return exceededFor(limit, found.endsAtMs - now())
  }

  const count = (name: LimitName, key: string, points = 1): void => {
    const { limit, counts, unreported } = counted[name]
    const known = bounded(key)
    const total = counts.add(known, points)
    if (shared && total && total.points >= limit.max * UNREPORTED_SHARE) {
      unreported.set(known, total)
    }
  }

  const addTogether = async ({ limit, counts }: Counted, key: string, points: number) => {
    const total = counts.add(key, points)
    if (total) total.unsent -= points
    const added = sharedCount(limit, key, points)
    const [sum] = (await shared?.add([added]).catch(() => undefined)) ?? []
    if (total && sum) settleCount(total, sum, now())
    return sum
  }

  return {
    exceeded,
    count,
    /** Charges points if the limit has any left. Otherwise, returns the limit. */
    take(name: LimitName, key: string, points = 1): Exceeded | undefined {
      const reached = exceeded(name, key)
      if (!reached) count(name, key, points)
      return reached
    },
    /** Like `take` with one point, but charges the shared total. If the store fails, charges only this process. */
    async takeTogether(name: LimitName, key: string): Promise<Exceeded | undefined> {
      const reached = exceeded(name, key)
      if (reached) return reached
      const { limit } = counted[name]
      const sum = await addTogether(counted[name], bounded(key), 1)
      return sum && sum.points > limit.max ? exceededFor(limit, sum.msLeft) : undefined
    },
    /** Refunds a point charged by `takeTogether`. */
    async giveBack(name: LimitName, key: string): Promise<void> {
      const known = bounded(key)
      // If the window has ended, the point has expired with the window.
      if (counted[name].counts.find(known)) await addTogether(counted[name], known, -1)
    },
    /** Reports high counts of this process, and adopts the totals of all processes. No-op without shared counts. */
    async exchange(): Promise<void> {
      if (shared) await exchange(Object.values(counted), shared, now)
    },
    size: () => Object.values(counted).reduce((sum, { counts }) => sum + counts.size, 0),
  }
}

function exceededFor(limit: LimitInForce, msLeft: number): Exceeded {
  return { limit, waitSeconds: Math.max(1, Math.ceil(msLeft / 1000)) }
}

/** Exchanges up to EXCHANGED_MAX counts in one call. If the call fails, reports the counts again later. */
async function exchange(all: readonly Counted[], shared: SharedCounts, now: () => number) {
  const reported = all
    .flatMap(({ limit, unreported }) =>
      [...unreported].map(([key, count]) => {
        return { limit, unreported, key, count, points: count.unsent }
      }),
    )
    .slice(0, EXCHANGED_MAX)
  if (reported.length === 0) return
  const counts = reported.map(({ limit, key, points }) => sharedCount(limit, key, points))
  // Do not log a failure, because other calls to the store already log that the store is down.
  const sums = await shared.add(counts).catch(() => [])
  for (const [at, { unreported, key, count, points }] of reported.entries()) {
    const sum = sums[at]
    if (sum) {
      count.unsent -= points
      settleCount(count, sum, now())
    }
    // Keep the count if the call failed, or if points were added in the meantime.
    const isDone = count.unsent === 0 || count.endsAtMs <= now()
    if (isDone && unreported.get(key) === count) unreported.delete(key)
  }
}

/** Sets a count to the total of all processes, plus the points that this process has counted since it reported. */
function settleCount(count: Count, { points, msLeft }: Sum, nowMs: number): void {
  count.points = points + count.unsent
  count.endsAtMs = Math.min(count.endsAtMs, nowMs + msLeft)
}

/** Returns the count to add in the store. Its key has a digest, so the store has no plain addresses or accounts. */
function sharedCount({ name, windowSeconds }: LimitInForce, key: string, points: number) {
  return { key: `${name}:${sha256(key)}`, points, windowSeconds }
}

function bounded(key: string): string {
  return key.length > KEY_CHARACTERS_MAX ? sha256(key) : key
}

/** Returns the key for limits per person and client (and site), so one client cannot block a person's other clients. */
export function personKey(person: {
  readonly personId: string
  readonly clientId: string
  readonly siteId?: string | undefined
}): string {
  return `${person.personId} ${person.clientId} ${person.siteId ?? ''}`
}
