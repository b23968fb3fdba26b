import { sql } from 'kysely'
import type { Logger } from 'pino'

import type { Database } from './database.ts'

/** How often to read the database clock. Machine clocks may drift by about 2 ms in that time. */
export const CLOCK_READ_SECONDS = 10

/** The largest difference that is not logged. The clocks of synchronized machines differ by less. */
const CLOCK_DIFFERENCE_MAX_MS = 2_000

/** The number of readings at start. The fastest reading is used, because it is the most accurate. */
const READINGS_AT_START = 3

/**
 * Opens the database clock, for decisions that must be consistent across processes, even if the clocks of their
 * machines differ (design 32). `now` makes no query. Between readings, it advances with `performance.now()`, which
 * ignores changes to the machine clock. SQLite uses the machine clock, because processes that share a file run on one
 * machine.
 */
export async function openStoreClock(database: Database) {
  if (database.engine === 'sqlite') return { now: Date.now, measure: async () => 0 }
  let reading = await readClock(database)
  for (let count = 1; count < READINGS_AT_START; count += 1) {
    const next = await readClock(database)
    if (next.uncertaintyMs < reading.uncertaintyMs) reading = next
  }
  const timeAt = (countedMs: number) => reading.storeMs + countedMs - reading.countedMs
  const now = () => Math.round(timeAt(performance.now()))
  // Keep the original Date.now, because main.ts replaces it with this clock.
  const { now: machineNow } = Date
  return {
    now,
    /** Reads the database clock again. @returns the milliseconds by which the machine clock is ahead */
    async measure() {
      const next = await readClock(database)
      // Ignore differences smaller than the error of the reading, to avoid jitter.
      if (Math.abs(next.storeMs - timeAt(next.countedMs)) > next.uncertaintyMs) reading = next
      return machineNow.call(Date) - now()
    },
  }
}

/** Reads the database clock. `countedMs` is the value of `performance.now()` halfway through the query. */
async function readClock({ kysely }: Database) {
  const startedMs = performance.now()
  const { rows } = await sql<{ readonly ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(kysely)
  const halfMs = (performance.now() - startedMs) / 2
  return { storeMs: Number(rows[0]?.ms), countedMs: startedMs + halfMs, uncertaintyMs: halfMs }
}

/** Creates a task that logs when the machine clock differs from the database clock, and when they agree again. */
export function makeClockWatch(
  measure: () => Promise<number>,
  logger: Pick<Logger, 'warn' | 'info'>,
) {
  let wasWrong = false
  return async (): Promise<void> => {
    const aheadMs = await measure()
    const isWrong = Math.abs(aheadMs) > CLOCK_DIFFERENCE_MAX_MS
    if (isWrong && !wasWrong) {
      const seconds = (Math.abs(aheadMs) / 1000).toFixed(1)
      logger.warn(
        `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database clock, ` +
          'which this service uses. Synchronize this machine with NTP, because other programs use the machine clock.',
      )
    }
    if (!isWrong && wasWrong) {
      logger.info('the clock of this machine matches the database clock again')
    }
    wasWrong = isWrong
  }
}
