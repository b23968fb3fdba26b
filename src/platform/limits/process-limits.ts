import { sha256 } from '../store/digest.ts'
import type { SharedCounts, Sum } from '../store/shared-counts.ts'
import { type Count, Counts } from './counts.ts'
import { type LimitInForce, type LimitName, limitsInForce } from './limit-table.ts'
import type { Exceeded, Limits } from './limits.ts'

/** How often processes exchange what they counted. */
const EXCHANGE_SECONDS = 1
/**
 * The part of a limit that a process does not report: most callers never use as much, and so cost no
 * exchange. Sixteen processes that all keep theirs let through at most twice the limit.
 */
const KEPT_PART = 1 / 16
/** In one exchange; the rest goes with the next one. */
const EXCHANGED_MAX = 1000
/** A longer key is counted by its digest. */
const KEY_CHARACTERS_MAX = 120

interface Counted {
  readonly limit: LimitInForce
  readonly counts: Counts
  /** What the next exchange reports. */
  readonly unreported: Map<string, Count>
}

/** The limits of a process. The configuration has the figures; a process that is alone shares no counts. */
export function makeLimits({
  policy,
  shared,
  now,
}: {
  readonly policy: object
  readonly shared: SharedCounts | undefined
  readonly now: () => number
}): Limits {
  const counted = Object.fromEntries(
    Object.entries(limitsInForce(policy)).map(([name, limit]) => {
      const counts = new Counts(limit.windowSeconds * 1000, now)
      return [name, { limit, counts, unreported: new Map<string, Count>() }]
    }),
  ) as Record<LimitName, Counted>

  const exceeded = ({ limit, counts }: Counted, key: string) => {
    const found = counts.find(key)
    if (!found || found.points < limit.max) return undefined
    return exceededFor(limit, found.endsAtMs - now())
  }

  const add = ({ limit, counts, unreported }: Counted, key: string, points: number) => {
    const count = counts.add(key, points)
    if (shared && count && count.points >= limit.max * KEPT_PART) unreported.set(key, count)
  }

  const addTogether = async ({ limit, counts }: Counted, key: string, points: number) => {
    const count = counts.add(key, points)
    if (count) count.unsent -= points
    const added = sharedCount(limit, key, points)
    const [sum] = (await shared?.add([added]).catch(() => undefined)) ?? []
    if (count && sum) settle(count, sum, now())
    return sum
  }

  return {
    exceeded: (name, key) => exceeded(counted[name], bounded(key)),
    count: (name, key, points = 1) => add(counted[name], bounded(key), points),
    take(name, key, points = 1) {
      const reached = exceeded(counted[name], bounded(key))
      if (!reached) add(counted[name], bounded(key), points)
      return reached
    },
    async takeTogether(name, key) {
      const { limit } = counted[name]
      const reached = exceeded(counted[name], bounded(key))
      if (reached) return reached
      const sum = await addTogether(counted[name], bounded(key), 1)
      return sum && sum.points > limit.max ? exceededFor(limit, sum.msLeft) : undefined
    },
    async giveBack(name, key) {
      const known = bounded(key)
      // A window that has ended took its points with it, and the next one begins at zero.
      if (counted[name].counts.find(known)) await addTogether(counted[name], known, -1)
    },
    async exchange() {
      if (shared) await exchange(Object.values(counted), shared, now)
    },
    size: () => Object.values(counted).reduce((sum, { counts }) => sum + counts.size, 0),
  }
}

/** The task that exchanges counts with the other processes. */
export function limitExchange({ exchange }: Limits) {
  return { name: 'limits', everySeconds: EXCHANGE_SECONDS, run: exchange }
}

function exceededFor(limit: LimitInForce, msLeft: number): Exceeded {
  return { limit, waitSeconds: Math.max(1, Math.ceil(msLeft / 1000)) }
}

/** One trip for all limits. What could not be reported goes with the next exchange. */
async function exchange(all: readonly Counted[], shared: SharedCounts, now: () => number) {
  const reported = all
    .flatMap(({ limit, unreported }) =>
      [...unreported].map(([key, count]) => ({ limit, unreported, key, count })),
    )
    .slice(0, EXCHANGED_MAX)
    .map((each) => ({ ...each, points: each.count.unsent }))
  if (reported.length === 0) return
  for (const { unreported, key, count } of reported) {
    unreported.delete(key)
    count.unsent = 0
  }
  try {
    const sums = await shared.add(
      reported.map(({ limit, key, points }) => sharedCount(limit, key, points)),
    )
    for (const [at, { count }] of reported.entries()) {
      const sum = sums[at]
      if (sum) settle(count, sum, now())
    }
  } catch {
    // Other users of the store report that it is down.
    for (const { unreported, key, count, points } of reported) {
      count.unsent += points
      if (count.endsAtMs > now()) unreported.set(key, count)
    }
  }
}

/** What all processes counted, and what this one did since its report. */
function settle(count: Count, { points, msLeft }: Sum, nowMs: number): void {
  count.points = points + count.unsent
  count.endsAtMs = Math.min(count.endsAtMs, nowMs + msLeft)
}

/** Under a digest, so that the store holds no address or account in clear. */
function sharedCount({ name, windowSeconds }: LimitInForce, key: string, points: number) {
  return { key: `${name}:${sha256(key)}`, points, windowSeconds }
}

function bounded(key: string): string {
  return key.length > KEY_CHARACTERS_MAX ? sha256(key) : key
}
