import { sql } from 'kysely'
import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterClusterMaster,
  RateLimiterRedis,
  RLWrapperTimeouts,
} from 'rate-limiter-flexible'

import type { Database } from './database.ts'
import type { RedisClient } from './redis.ts'

export interface CountToAdd {
  readonly key: string
  /** Less than nothing gives back. */
  readonly points: number
  /** How long the window is that begins when there is none. */
  readonly windowSeconds: number
}

export interface Sum {
  readonly points: number
  readonly msLeft: number
}

/** Counts that the processes of a service have in common. Their windows are on the clock of the store. */
export interface SharedCounts {
  /** The sum of each, in the same order; rejects when they cannot be reached. */
  add(counts: readonly CountToAdd[]): Promise<readonly Sum[]>
}

export interface CountingStores {
  readonly database: Database
  readonly redis: RedisClient | undefined
}

/**
 * Where processes count together: in Redis, or else in PostgreSQL; the workers of one host without
 * either in their primary. A process that is alone shares with nobody.
 */
export function openSharedCounts(
  { database, redis }: CountingStores,
  isWorker: boolean,
): SharedCounts | undefined {
  if (redis) {
    return throughLimiter(new RateLimiterRedis({ ...ofLimiter, storeClient: redis }))
  }
  if (database.engine === 'postgres') return inPostgres(database)
  return isWorker ? throughLimiter(inPrimary()) : undefined
}

/** Makes this process, a primary, the one in which its workers count. */
export function countForWorkers(): void {
  new RateLimiterClusterMaster()
}

/** The limits are elsewhere (platform/limits/limit-table.ts); here is only counted. */
const ofLimiter = { keyPrefix: 'gatehouse:counts', points: Number.MAX_SAFE_INTEGER, duration: 1 }

/** A worker counts by itself rather than wait longer for the primary. */
const PRIMARY_ANSWERS_WITHIN_MS = 250

function inPrimary(): RateLimiterAbstract {
  const timeoutMs = PRIMARY_ANSWERS_WITHIN_MS
  return new RLWrapperTimeouts({
    limiter: new RateLimiterCluster({ ...ofLimiter, timeoutMs }),
    timeoutMs,
  })
}

function throughLimiter(limiter: RateLimiterAbstract): SharedCounts {
  return {
    // The commands of one turn of the event loop are sent as one.
    add: async (counts) =>
      await Promise.all(
        counts.map(async ({ key, points, windowSeconds }) => {
          const options = { customDuration: windowSeconds }
          const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points, options)
          return { points: consumedPoints, msLeft: msBeforeNext }
        }),
      ),
  }
}

/** One statement. Rows are locked in one order everywhere, so that no two processes wait in a circle. */
function inPostgres({ kysely }: Database): SharedCounts {
  return {
    async add(counts) {
      const rows = counts.map(
        ({ key, points, windowSeconds }) =>
          sql`(${key}, cast(${points} as bigint), cast(${windowSeconds * 1000} as bigint))`,
      )
      const { rows: sums } = await sql<{ key: string; points: number; ms_left: number }>`
        with clock as (
          select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now_at
        ),
        counted (key, points, window_ms) as (values ${sql.join(rows)})
        insert into request_count as known (key, points, ends_at)
        select counted.key, counted.points, clock.now_at + counted.window_ms
        from counted, clock order by counted.key
        on conflict (key) do update set
          points = excluded.points + case
            when known.ends_at > (select now_at from clock) then known.points else 0 end,
          ends_at = case
            when known.ends_at > (select now_at from clock) then known.ends_at
            else excluded.ends_at end
        returning key, points, ends_at - (select now_at from clock) as ms_left
      `.execute(kysely)
      const found = new Map(sums.map((row) => [row.key, row]))
      return counts.map(({ key }) => {
        const { points = 0, ms_left: msLeft = 0 } = found.get(key) ?? {}
        return { points, msLeft }
      })
    },
  }
}
