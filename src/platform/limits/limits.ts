import { sha256 } from '../store/digest.ts'
import type { SharedCounts } from '../store/shared-counts.ts'
import { type Count, Counts } from './counts.ts'
import { type LimitInForce, type LimitName, limitsInForce } from './limit-table.ts'

/** A limit that is reached. */
export interface Exceeded {
  readonly limit: LimitInForce
  /** Until the window ends; 1 at least. */
  readonly waitSeconds: number
}

/**
 * Counts what callers do. Nothing here waits for a store, but for `takeTogether`; a store that is away
 * lifts no limit and holds nobody up, because what this process counted goes on counting.
 */
export interface Limits {
  /** Whether nothing is left; counts nothing. */
  exceeded(name: LimitName, key: string): Exceeded | undefined
  /** Counts points, whatever is left. */
  count(name: LimitName, key: string, points?: number): void
  /** Counts points, unless nothing is left. */
  take(name: LimitName, key: string, points?: number): Exceeded | undefined
  /** As `take` of one, with what all processes count: for what is expensive anyway. */
  takeTogether(name: LimitName, key: string): Promise<Exceeded | undefined>
  /** Takes one back that was taken together. */
  giveBack(name: LimitName, key: string): Promise<void>
  /** Tells the other processes what was counted here, and hears what they counted. */
  exchange(): Promise<void>
  /** How many keys are counted one by one. */
  size(): number
}

export interface LimitsPorts {
  /** The configuration, of which the table reads its figures. */
  readonly policy: object
  /** Nothing where a process is alone. */
  readonly shared: SharedCounts | undefined
  readonly now: () => number
}

/** How often processes exchange what they counted. */
export const EXCHANGE_SECONDS = 1
/**
 * What part of a limit one process keeps to itself: most callers never use as much, and cost no
 * exchange. Sixteen processes that all keep theirs let through twice the limit at most.
 */
const KEPT_PART = 1 / 16
/** In one exchange; the others take part in the next one. */
const EXCHANGED_MAX = 1000
/** A longer key is counted by its digest. */
const KEY_CHARACTERS_MAX = 120

interface Counted {
  readonly limit: LimitInForce
  readonly counts: Counts
  readonly keptMax: number
  /** What the next exchange tells. */
  readonly told: Map<string, Count>
}

/** The limits of a process. */
export function makeLimits({ policy, shared, now }: LimitsPorts): Limits {
  const counted = Object.fromEntries(
    Object.entries(limitsInForce(policy)).map(([name, limit]) => [
      name,
      {
        limit,
        counts: new Counts({ windowMs: limit.windowSeconds * 1000, now }),
        keptMax: limit.max * KEPT_PART,
        told: new Map<string, Count>(),
      },
    ]),
  ) as Record<LimitName, Counted>

  const exceededBy = ({ limit }: Counted, found: Count | undefined) => {
    if (!found || found.points < limit.max) return undefined
    return { limit, waitSeconds: Math.max(1, Math.ceil((found.endsAtMs - now()) / 1000)) }
  }

  const add = (of: Counted, key: string, points: number) => {
    const count = of.counts.add(key, points)
    if (shared && count && count.points >= of.keptMax) of.told.set(key, count)
    return count
  }

  const addTogether = async (of: Counted, key: string, points: number) => {
    const count = of.counts.add(key, points)
    if (count) count.unsent -= points
    const { windowSeconds } = of.limit
    const added = { key: sharedKey(of.limit, key), points, windowSeconds }
    const [sum] = (await shared?.add([added]).catch(() => undefined)) ?? []
    if (count && sum) settle(count, sum, now())
    return sum
  }

  return {
    exceeded(name, key) {
      const of = counted[name]
      return exceededBy(of, of.counts.find(bounded(key)))
    },
    count(name, key, points = 1) {
      add(counted[name], bounded(key), points)
    },
    take(name, key, points = 1) {
      const of = counted[name]
      const known = bounded(key)
      const exceeded = exceededBy(of, of.counts.find(known))
      if (!exceeded) add(of, known, points)
      return exceeded
    },
    async takeTogether(name, key) {
      const of = counted[name]
      const known = bounded(key)
      const exceeded = exceededBy(of, of.counts.find(known))
      if (exceeded) return exceeded
      const sum = await addTogether(of, known, 1)
      if (!sum || sum.points <= of.limit.max) return undefined
      return { limit: of.limit, waitSeconds: Math.max(1, Math.ceil(sum.msLeft / 1000)) }
    },
    async giveBack(name, key) {
      const of = counted[name]
      const known = bounded(key)
      // What was taken in a window that has ended is gone with it, and the next one begins at nothing.
      if (of.counts.find(known)) await addTogether(of, known, -1)
    },
    async exchange() {
      if (shared) await exchange(Object.values(counted), shared, now)
    },
    size: () => Object.values(counted).reduce((sum, { counts }) => sum + counts.size, 0),
  }
}

/** One trip for all limits. What could not be told is told the next time. */
async function exchange(
  counted: readonly Counted[],
  shared: SharedCounts,
  now: () => number,
): Promise<void> {
  const told = counted
    .flatMap(({ limit, told }) => [...told].map(([key, count]) => ({ limit, key, count, told })))
    .slice(0, EXCHANGED_MAX)
    .map((one) => ({ ...one, points: one.count.unsent }))
  if (told.length === 0) return
  for (const { told: waiting, key, count } of told) {
    waiting.delete(key)
    count.unsent = 0
  }
  try {
    const sums = await shared.add(
      told.map(({ limit, key, points }) => ({
        ...{ key: sharedKey(limit, key), points },
        windowSeconds: limit.windowSeconds,
      })),
    )
    for (const [at, { count }] of told.entries()) {
      const sum = sums[at]
      if (sum) settle(count, sum, now())
    }
  } catch {
    // That the store is away is said by whatever else needs it.
    for (const { told: waiting, key, count, points } of told) {
      count.unsent += points
      if (count.endsAtMs > now()) waiting.set(key, count)
    }
  }
}

/** What all processes counted, and what this one did since it told them. */
function settle(
  count: Count,
  { points, msLeft }: { points: number; msLeft: number },
  nowMs: number,
) {
  count.points = points + count.unsent
  count.endsAtMs = Math.min(count.endsAtMs, nowMs + msLeft)
}

/** Neither addresses nor accounts stand in a store in clear. */
function sharedKey({ name }: LimitInForce, key: string): string {
  return `${name}:${sha256(key)}`
}

function bounded(key: string): string {
  return key.length > KEY_CHARACTERS_MAX ? sha256(key) : key
}

/** Who is counted where a person is: one client, so that one program of theirs does not stop another. */
export function personKey(person: {
  readonly personId: string
  readonly clientId: string
  readonly siteId?: string | undefined
}): string {
  return `${person.personId} ${person.clientId} ${person.siteId ?? ''}`
}
