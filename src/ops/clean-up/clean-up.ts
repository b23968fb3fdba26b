/** What has expired is removed: in small statements, for as long as there is more of it. */

import { setTimeout as delay } from 'node:timers/promises'

import type { Logger } from 'pino'

import type { Database } from '../../platform/store/database.ts'
import { removeExpired } from '../../platform/store/remove-expired.ts'
import { type Expiring, type Keeping, whatExpires } from './what-expires.ts'

export interface CleanUpPorts {
  readonly database: Database
  readonly keeping: Keeping
  readonly logger: Logger
  /** How long one run goes on at most; when there is more, the next one does. */
  readonly runSeconds: number
  readonly now: () => number
  /** Milliseconds of no particular beginning. */
  readonly clock?: () => number
  /** Waits for so long, or until the signal. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** What was done about one table. */
export interface RemovalCounts {
  /** Rows that had expired; those that went with them are not counted by a database. */
  readonly rows: number
  readonly statements: number
  /** Statements that the database gave up. */
  readonly cancelled: number
  readonly ms: number
  readonly longestMs: number
}

export interface CleanUp {
  /**
   * Goes on until nothing is left, the run took its time, or the signal comes.
   *
   * @throws what the database says, except that a statement took too long
   */
  run(signal: AbortSignal): Promise<void>
  /** Since the start of the process, by table; a run is added when it ends. */
  readonly counts: ReadonlyMap<string, RemovalCounts>
}

/**
 * How long a statement should take. On SQLite the whole process waits for it, and every now and then
 * for the write-ahead log too, which takes twice as long; PostgreSQL cancels one that takes longer
 * than `storage.answerWithinMs`, which is 50 at least.
 */
const STATEMENT_MS = { sqlite: 5, postgres: 20 } as const

/** After each statement comes a pause of so many times its length: a quarter of the time is work. */
const PAUSES_PER_STATEMENT = 3

/** One kind of rows on its way through the runs. */
interface Line {
  readonly kind: Expiring
  readonly size: BatchSize
  /** Where it goes on: before it lie entries of removed rows, until the database tidies its index. */
  from: number
  /** Whether there may be more, as far as is known; the beginning of a process knows nothing. */
  more: boolean
  /** Whether this run still looks for it. */
  due: boolean
  /** Of this run. */
  counts: RemovalCounts
}

const nothing: RemovalCounts = { rows: 0, statements: 0, cancelled: 0, ms: 0, longestMs: 0 }

export function makeCleanUp(ports: CleanUpPorts): CleanUp {
  const { database, keeping, logger, clock = () => performance.now() } = ports
  const statementMs = STATEMENT_MS[database.engine]
  const lines = whatExpires(keeping).map((kind): Line => {
    const size = makeBatchSize(kind.rowsMax, statementMs)
    return { kind, size, from: 0, more: true, due: false, counts: nothing }
  })
  const totals = new Map<string, RemovalCounts>()
  return {
    counts: totals,
    async run(signal) {
      for (const line of lines) Object.assign(line, { due: true, counts: nothing })
      const startedMs = clock()
      let failed = true
      try {
        await removeAll(lines, { ...ports, clock }, signal)
        failed = false
      } finally {
        for (const { kind, counts } of lines) {
          totals.set(kind.table, sum([totals.get(kind.table) ?? nothing, counts]))
        }
        report(logger, lines, { ms: clock() - startedMs, cutShort: failed || signal.aborted })
      }
    },
  }
}

type Running = CleanUpPorts & Required<Pick<CleanUpPorts, 'clock'>>

async function removeAll(lines: Line[], running: Running, signal: AbortSignal): Promise<void> {
  const { clock, runSeconds, pause = pauseUnlessStopped } = running
  const endMs = clock() + runSeconds * 1000
  const waits = ({ kind }: Line) =>
    lines.some((other) => other.more && kind.after?.includes(other.kind.table))
  while (!signal.aborted && clock() < endMs) {
    const line = lines.find((candidate) => candidate.due && !waits(candidate))
    if (!line) return
    // Then it is the turn of the others, in the next run too, however many of these there are.
    lines.push(...lines.splice(lines.indexOf(line), 1))
    await pause(PAUSES_PER_STATEMENT * (await removeBatch(line, running)), signal)
  }
}

/** @returns how long the statement took */
async function removeBatch(line: Line, { database, now, clock }: Running): Promise<number> {
  const { kind, size, from } = line
  const rowsMax = size.rows
  const startedMs = clock()
  const until = kind.until(now())
  const removed = await removeExpired(database, kind, { from, until, rowsMax })
  const ms = clock() - startedMs
  const rows = removed?.length ?? 0
  const cancelled = removed ? 0 : 1
  line.counts = sum([line.counts, { rows, statements: 1, cancelled, ms, longestMs: ms }])
  if (!removed) {
    line.more = true
    line.due = size.cancelled()
    return ms
  }
  const full = rows === rowsMax
  size.took(ms, full)
  line.from = full ? Math.max(...removed) : 0
  line.more = full
  line.due = full
  return ms
}

/** Leaves the process to others, and ends at once when it stops. */
async function pauseUnlessStopped(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

function sum(counts: readonly RemovalCounts[]): RemovalCounts {
  return counts.reduce((one, other) => ({
    rows: one.rows + other.rows,
    statements: one.statements + other.statements,
    cancelled: one.cancelled + other.cancelled,
    ms: one.ms + other.ms,
    longestMs: Math.max(one.longestMs, other.longestMs),
  }))
}

/** One line for a run that did something, or that left something which it should have removed. */
function report(
  logger: Logger,
  lines: readonly Line[],
  { ms, cutShort }: { readonly ms: number; readonly cutShort: boolean },
): void {
  const { statements, cancelled, longestMs } = sum(lines.map(({ counts }) => counts))
  const removed = lines
    .filter(({ counts }) => counts.rows > 0)
    .map(({ kind, counts }) => [kind.table, counts.rows] as const)
  const waiting = lines.filter(({ more }) => more).map(({ kind }) => kind.table)
  const line = {
    removed: Object.fromEntries(removed),
    statements,
    cancelled,
    ms: Math.round(ms),
    longestStatementMs: Math.round(longestMs * 10) / 10,
  }
  if (waiting.length > 0 && !cutShort) {
    logger.warn({ ...line, waiting }, 'expired rows wait: clean-up does not keep up')
  } else if (removed.length > 0) logger.info(line, 'expired rows were removed')
}

/** How many rows the next statement removes. */
interface BatchSize {
  readonly rows: number
  /** A statement of this size took so long; `full` when there were as many rows to remove. */
  took(ms: number, full: boolean): void
  /** The database gave the statement up. False when it was for one row. */
  cancelled(): boolean
}

/**
 * Follows the time that statements take: it begins small, doubles while a statement takes less than
 * half of its time, and halves when one takes longer. Only a cancelled statement makes it smaller
 * than at the beginning: where waiting for the disk takes the time, fewer rows would gain nothing.
 *
 * @param statementMs how long a statement should take at most
 */
export function makeBatchSize(rowsMax: number, statementMs: number): BatchSize {
  const first = Math.ceil(Math.sqrt(rowsMax))
  let rows = first
  return {
    get rows() {
      return rows
    },
    took(ms, full) {
      if (ms > statementMs) rows = Math.max(Math.min(first, rows), Math.floor(rows / 2))
      else if (full && ms < statementMs / 2) rows = Math.min(rowsMax, rows * 2)
    },
    cancelled() {
      if (rows === 1) return false
      rows = Math.floor(rows / 2)
      return true
    },
  }
}
