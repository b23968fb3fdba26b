import { sql } from 'kysely'
import type { Logger } from 'pino'

import type { Database } from './database.ts'

/**
 * The time by which everything is decided that several processes have to agree on: that of the database,
 * whatever the clocks of their machines say (docs/operations.md, "Whose clock").
 */
export interface StoreClock {
  /** Epoch milliseconds. Asks no store: it counts on from the last reading. */
  now(): number
  /**
   * Reads the clock of the database again.
   *
   * @returns by how many milliseconds the clock of this machine is ahead of it; negative when it is behind
   */
  measure(): Promise<number>
}

/** So often is the clock of the database read again; a machine's quartz drifts by some 2 ms meanwhile. */
export const CLOCK_READ_SECONDS = 10

/** From here on a difference is said: no machine that keeps its clock in step is as far off. */
export const CLOCK_DIFFERENCE_MAX_MS = 2_000

/** Of several readings the quickest tells most, since the time of its way is all that is not known. */
const READINGS_AT_START = 3

interface Reading {
  /** What the clock of the database said, in epoch milliseconds. */
  readonly storeMs: number
  /** What the counter of this process said in the middle of asking. */
  readonly countedMs: number
  /** The reading is off by this much at most. */
  readonly uncertaintyMs: number
}

/**
 * Opens the clock of a database. Between two readings it goes on by the counter of this process, which no
 * change of the machine's clock moves, so that nothing asks a store for the time.
 *
 * SQLite has no clock of its own: the processes that share a file are on one machine and have its clock.
 */
export async function openStoreClock(database: Database): Promise<StoreClock> {
  if (database.engine === 'sqlite') return { now: Date.now, measure: async () => 0 }
  let reading = await readClock(database)
  for (let count = 1; count < READINGS_AT_START; count += 1) {
    const next = await readClock(database)
    if (next.uncertaintyMs < reading.uncertaintyMs) reading = next
  }
  const now = () => Math.round(timeAfter(reading, performance.now()))
  // Where a process serves, Date.now is this very clock (main.ts), so that the machine's is kept here.
  const machineNow = machineClock()
  return {
    now,
    async measure() {
      const next = await readClock(database)
      // What differs by less than a reading can be off is no news, and time does not jitter.
      const expectedMs = timeAfter(reading, next.countedMs)
      if (Math.abs(next.storeMs - expectedMs) > next.uncertaintyMs) reading = next
      return machineNow() - now()
    },
  }
}

function timeAfter({ storeMs, countedMs }: Reading, nowCountedMs: number): number {
  return storeMs + nowCountedMs - countedMs
}

async function readClock({ kysely }: Database): Promise<Reading> {
  const askedMs = performance.now()
  const { rows } = await sql<{ readonly ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(kysely)
  const wayMs = performance.now() - askedMs
  const storeMs = Number(rows[0]?.ms)
  return { storeMs, countedMs: askedMs + wayMs / 2, uncertaintyMs: wayMs / 2 }
}

/** What the machine's clock says, whatever Date.now may become. */
function machineClock(): () => number {
  const { now } = Date
  return () => now.call(Date)
}

/** Reads the clock of the database again, and says of the machine's when it goes wrong and when it is right again. */
export function makeClockWatch(clock: StoreClock, logger: Pick<Logger, 'warn' | 'info'>) {
  let wasWrong = false
  return async (): Promise<void> => {
    const warning = clockWarning(await clock.measure())
    if (warning !== undefined && !wasWrong) logger.warn(warning)
    if (warning === undefined && wasWrong) {
      logger.info('the clock of this machine agrees with that of the database again')
    }
    wasWrong = warning !== undefined
  }
}

/** What is said of a machine whose clock is far from that of the database; nothing when it is not. */
function clockWarning(aheadMs: number): string | undefined {
  if (Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MAX_MS) return undefined
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1)
  return (
    `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database, ` +
    'by which everything here is decided; synchronise it (NTP), because other programs of this machine do not.'
  )
}
