import { sql } from 'kysely'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'

import type { Database } from './database.ts'
import type { RedisClient } from './redis.ts'

export interface CountToAdd {
  readonly key: string
  /** The points to add; negative to subtract. */
  readonly points: number
  /** The length of the window, which begins when the key is first counted. */
  readonly windowSeconds: number
}

export interface Sum {
  readonly points: number
  readonly msLeft: number
}

/** Counts that the processes of a service share. The store's clock measures the windows. */
export interface SharedCounts {
  /** Adds points, and returns the totals in the order of `counts`. Rejects if the store is unavailable. */
  add(counts: readonly CountToAdd[]): Promise<readonly Sum[]>
}

/**
 * Opens counts in Redis if it is configured, or else in PostgreSQL. With SQLite alone, the primary process counts for
 * its workers. A single process with SQLite alone has no counts to share, so the result is undefined.
 */
export function openSharedCounts(
  { database, redis }: { readonly database: Database; readonly redis: RedisClient | undefined },
  isWorker: boolean,
): SharedCounts | undefined {
  if (redis) {
    return throughLimiter(
      ({ RateLimiterRedis }) => new RateLimiterRedis({ ...limiterOptions, storeClient: redis }),
    )
  }
  if (database.engine === 'postgres') return inPostgres(database)
  if (!isWorker) return undefined
  const timeoutMs = PRIMARY_ANSWERS_WITHIN_MS
  return throughLimiter(
    ({ RateLimiterCluster }) => new RateLimiterCluster({ ...limiterOptions, timeoutMs }),
  )
}

/** The limiter's options. The limiter only counts, so it has no maximum; the limits are in limits/limit-table.ts. */
const limiterOptions = {
  keyPrefix: 'gatehouse:counts',
  points: Number.MAX_SAFE_INTEGER,
  duration: 1,
}

/** How long a worker waits for the primary before it falls back to its own counts. */
const PRIMARY_ANSWERS_WITHIN_MS = 250

type Library = typeof import('rate-limiter-flexible')

/** Loads the library on the first count, to keep start-up fast. */
function throughLimiter(makeLimiter: (library: Library) => RateLimiterAbstract): SharedCounts {
  let loading: Promise<RateLimiterAbstract> | undefined
  return {
    async add(counts) {
      loading ??= import('rate-limiter-flexible').then(makeLimiter)
      const limiter = await loading
      // Add in parallel, because the Redis client combines the writes of one event loop turn.
      return await Promise.all(
        counts.map(async ({ key, points, windowSeconds }) => {
          const options = { customDuration: windowSeconds }
          const { consumedPoints, msBeforeNext } = await limiter.penalty(key, points, options)
          return { points: consumedPoints, msLeft: msBeforeNext }
        }),
      )
    },
  }
}

/**
 * Counts with one statement. Locks rows in order of their keys, to avoid deadlocks. Passes arrays, so the statement has
 * the same text, and is prepared once, for any number of counts.
 */
function inPostgres({ kysely }: Database): SharedCounts {
  return {
    async add(counts) {
      const { rows: sums } = await sql<{ key: string; points: number; ms_left: number }>`
        with clock as (
          select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now_at
        )
        insert into request_count as known (key, points, ends_at)
        select counted.key, counted.points, clock.now_at + counted.window_ms
        from clock, unnest(
          cast(${counts.map(({ key }) => key)} as text[]),
          cast(${counts.map(({ points }) => points)} as bigint[]),
          cast(${counts.map(({ windowSeconds }) => windowSeconds * 1000)} as bigint[])
        ) as counted (key, points, window_ms)
        order by counted.key
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
