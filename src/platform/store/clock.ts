import { sql } from 'kysely'
import type { Logger } from 'pino'

import type { Database } from './database.ts'

/** How often the clock of the database is read; the quartz of a machine drifts by some 2 ms meanwhile. */
export const CLOCK_READ_SECONDS = 10

/** A larger difference is logged: no synchronized machine is as far off. */
export const CLOCK_DIFFERENCE_MAX_MS = 2_000

/** The quickest of several readings is the most exact, since only its travel time is uncertain. */
const READINGS_AT_START = 3

interface Reading {
  /** The clock of the database, in epoch milliseconds. */
  readonly storeMs: number
  /** The counter of this process halfway through the query. */
  readonly countedMs: number
  /** The largest possible error. */
  readonly uncertaintyMs: number
}

/**
 * Opens the clock of a database, for every decision that several processes have to agree on, whatever the
 * clocks of their machines say (docs/design.md, 32). `now` queries nothing: between two
 * readings it advances by the counter of this process, which no change of the machine's clock moves.
 *
 * SQLite has no clock of its own: the processes that share a file are on one machine and have its clock.
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
  // In a service, Date.now is replaced by this very clock (main.ts), so keep that of the machine.
  const { now: machineNow } = Date
  return {
    now,
    /**
     * Reads the clock of the database again.
     *
     * @returns by how many milliseconds the clock of this machine is ahead; negative when it is behind
     */
    async measure() {
      const next = await readClock(database)
      // Ignore a difference within the error of a reading, so that the time does not jitter.
      if (Math.abs(next.storeMs - timeAt(next.countedMs)) > next.uncertaintyMs) reading = next
      return machineNow.call(Date) - now()
    },
  }
}

async function readClock({ kysely }: Database): Promise<Reading> {
  const startedMs = performance.now()
  const { rows } = await sql<{ readonly ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(kysely)
  const halfMs = (performance.now() - startedMs) / 2
  return { storeMs: Number(rows[0]?.ms), countedMs: startedMs + halfMs, uncertaintyMs: halfMs }
}

/** Makes a task that reads the clock again, and logs when that of the machine becomes wrong or right again. */
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
        `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database, ` +
          'by which everything here is decided; synchronise it (NTP), because other programs of this machine do not.',
      )
    }
    if (!isWrong && wasWrong) {
      logger.info('the clock of this machine agrees with that of the database again')
    }
    wasWrong = isWrong
  }
}
