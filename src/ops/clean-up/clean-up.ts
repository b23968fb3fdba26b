/** Deletes expired rows in small statements. */

import { setTimeout as delay } from 'node:timers/promises'

import { sql } from 'kysely'
import type { Logger } from 'pino'

import { STALE_MS } from '../../oauth/clients/document-clients.ts'
import { COUNT_DAYS, dayOf } from '../../oauth/grants/grant-store.ts'
import type { Database } from '../../platform/store/database.ts'
import { type ExpiringRows, removeExpired } from '../../platform/store/remove-expired.ts'

export interface CleanUpPorts {
  readonly database: Database
  readonly retention: Retention
  readonly logger: Logger
  /** The time limit of one run. The next run continues where this run stopped. */
  readonly runSeconds: number
  readonly now: () => number
  /** A monotonic clock, in milliseconds. */
  readonly clock?: () => number
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface Retention {
  /** The maximum lifetime of a token family and its tokens, unless an operator application waives it (design 40). */
  readonly tokensLiveSeconds: number
  readonly auditDays: number
}

type Expiring = ExpiringRows & {
  /** Returns the latest expiry of rows to delete. Defaults to `nowMs`. */
  readonly until?: (nowMs: number) => number
  /** The maximum number of rows per statement, not counting cascades. */
  readonly rowsMax?: number
  /** Child tables to clean up first, to keep cascades small. */
  readonly after?: readonly ExpiringRows['table'][]
}

const DAY_MS = 86_400_000
/** How long the log of webhook deliveries is kept. */
const DELIVERY_LOG_DAYS = 30
const ROWS_MAX = 1000

/** Returns the kinds of rows to delete, with their expiry, as in docs/reference/retention.md. */
export function expiringKinds({ tokensLiveSeconds, auditDays }: Retention): readonly Expiring[] {
  const countDaysAgo = (nowMs: number) => dayOf(nowMs) - COUNT_DAYS
  const msAgo = (ms: number) => (nowMs: number) => nowMs - ms
  return [
    { table: 'oauth_state', expiry: 'expires_at' },
    { table: 'refresh_token_family', expiry: 'kept_until' },
    { table: 'relying_party_session', expiry: 'expires_at' },
    { table: 'browser_session', expiry: 'expires_at' },
    { table: 'signed_out_session', expiry: 'kept_until' },
    { table: 'one_time_link', expiry: 'expires_at' },
    { table: 'change_key', expiry: 'expires_at' },
    { table: 'pending_change', expiry: 'expires_at' },
    { table: 'unused_client', expiry: 'expires_at' },
    { table: 'request_count', expiry: 'ends_at' },
    { table: 'platform_callback', expiry: 'expires_at' },
    { table: 'audit_event', expiry: 'occurred_at', until: msAgo(auditDays * DAY_MS), rowsMax: 500 },
    { table: 'webhook_delivery', expiry: 'attempted_at', until: msAgo(DELIVERY_LOG_DAYS * DAY_MS) },
    { table: 'site_refusal_day', expiry: 'day', until: countDaysAgo },
    { table: 'oauth_grant_day', expiry: 'day', until: countDaysAgo },
    {
      // Deleting a grant also deletes its scopes and its remaining daily counts.
      table: 'oauth_grant',
      expiry: 'expires_at',
      rowsMax: 16,
      after: ['refresh_token_family', 'relying_party_session', 'oauth_grant_day'],
    },
    {
      // Authorization requests create most of these rows. Rows with a platform reviewer's decision are kept.
      table: 'document_client',
      expiry: 'fetched_at',
      only: sql`review is null`,
      until: msAgo(STALE_MS + tokensLiveSeconds * 1000 + 1),
      rowsMax: 500,
    },
  ]
}

/**
 * The target duration of a statement. With SQLite, a statement blocks the process, and a checkpoint can double the time.
 * With PostgreSQL, a slow statement is cancelled (see `StorageTimeout`).
 */
const STATEMENT_MS = { sqlite: 5, postgres: 60 } as const

/** The share of its time limit that a run uses. A longer run could overlap the next one, which would be skipped. */
const RUN_SHARE = 0.95

/** The clocks that measure statements. SQLite runs in this thread, so CPU time excludes waits for the processor. */
const statementClock = {
  sqlite: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
  postgres: () => performance.now(),
} as const

/** The pause after a statement, as a multiple of its duration. With 2, statements take a third of the time. */
const PAUSES_PER_STATEMENT = 2

/** The clean-up progress for one kind of row. */
interface Line {
  readonly kind: Expiring
  readonly size: BatchSize
  /** The expiry at which the next statement starts to search, to skip the index entries of deleted rows. */
  from: number
  /** Whether expired rows may remain. */
  more: boolean
  /** Whether this run still has to process this kind. */
  due: boolean
  /** The number of rows deleted by this run, without cascades. */
  removed: number
}

/**
 * Creates the task that deletes expired rows in small statements. A run ends when it can delete no more expired rows,
 * its time is used up, or the signal is aborted. It rejects on database errors, except for statement timeouts.
 */
export function makeCleanUp(ports: CleanUpPorts): (signal: AbortSignal) => Promise<void> {
  const { database, retention, logger, runSeconds, clock = () => performance.now() } = ports
  // `delay` rejects only when the signal is aborted. The run then ends.
  const wait = async (ms: number, signal: AbortSignal) =>
    await delay(ms, undefined, { signal }).catch(() => {})
  const { now, pause = wait } = ports
  const statementMs = STATEMENT_MS[database.engine]
  const statementClockMs = ports.clock ?? statementClock[database.engine]
  const lines = expiringKinds(retention).map((kind): Line => {
    const size = makeBatchSize(kind.rowsMax ?? ROWS_MAX, statementMs)
    return { kind, size, from: 0, more: true, due: false, removed: 0 }
  })
  const isBlocked = ({ kind }: Line) =>
    lines.some((other) => other.more && kind.after?.includes(other.kind.table))
  return async (signal) => {
    for (const line of lines) Object.assign(line, { due: true, removed: 0 })
    const counts = { statements: 0, cancelled: 0, longestMs: 0 }
    const startedMs = clock()
    let failed = true
    try {
      while (!signal.aborted && clock() < startedMs + RUN_SHARE * runSeconds * 1000) {
        const line = lines.find((candidate) => candidate.due && !isBlocked(candidate))
        if (!line) break
        // Move this kind to the end, so all kinds take turns, even across runs.
        lines.push(...lines.splice(lines.indexOf(line), 1))
        const batchStartedMs = statementClockMs()
        const { kind, from, size } = line
        const until = kind.until?.(now()) ?? now()
        const removed = await removeExpired(database, kind, { from, until, rowsMax: size.rows })
        const ms = statementClockMs() - batchStartedMs
        counts.statements += 1
        counts.longestMs = Math.max(counts.longestMs, ms)
        if (!removed) counts.cancelled += 1
        follow(line, removed, ms)
        await pause(PAUSES_PER_STATEMENT * ms, signal)
      }
      failed = false
    } finally {
      const run = { ...counts, ms: clock() - startedMs }
      report(logger, lines, run, failed || signal.aborted)
    }
  }
}

/** Updates the progress. `removed` has the expiry of each deleted row, or is undefined for a cancelled statement. */
function follow(line: Line, removed: readonly number[] | undefined, ms: number): void {
  if (!removed) {
    line.more = true
    line.due = line.size.cancelled()
    return
  }
  const full = removed.length === line.size.rows
  line.size.took(ms, full)
  line.removed += removed.length
  line.from = full ? Math.max(...removed) : 0
  line.more = full
  line.due = full
}

/** Logs a run that deleted rows or could not keep up. */
function report(
  logger: Logger,
  lines: readonly Line[],
  run: Readonly<Record<'statements' | 'cancelled' | 'ms' | 'longestMs', number>>,
  cutShort: boolean,
): void {
  const removed = lines.filter((line) => line.removed > 0)
  const waiting = lines.filter(({ more }) => more).map(({ kind }) => kind.table)
  const line = {
    removed: Object.fromEntries(removed.map((line) => [line.kind.table, line.removed])),
    statements: run.statements,
    cancelled: run.cancelled,
    ms: Math.round(run.ms),
    longestStatementMs: Math.round(run.longestMs * 10) / 10,
  }
  if (waiting.length > 0 && !cutShort) {
    logger.warn({ ...line, waiting }, 'clean-up cannot keep up: expired rows remain')
  } else if (removed.length > 0) logger.info(line, 'expired rows were removed')
}

type BatchSize = ReturnType<typeof makeBatchSize>

/**
 * Creates a batch size (rows per statement) that adapts to the duration of statements. It starts small, doubles after a
 * fast statement that deleted a full batch, and halves after a slow one. Only a cancelled statement reduces it below the
 * initial size. A statement that small is usually slow because of the disk, so deleting fewer rows would not help.
 */
export function makeBatchSize(rowsMax: number, statementMs: number) {
  const first = Math.ceil(Math.sqrt(rowsMax))
  let rows = first
  return {
    get rows(): number {
      return rows
    },
    /** Adapts the batch size after a statement. @param full whether the statement deleted as many rows as allowed */
    took(ms: number, full: boolean): void {
      if (ms > statementMs) rows = Math.max(Math.min(first, rows), Math.floor(rows / 2))
      else if (full && ms < statementMs / 2) rows = Math.min(rowsMax, rows * 2)
    },
    /** Halves the batch size after a cancelled statement. @returns false if the size was 1 */
    cancelled(): boolean {
      if (rows === 1) return false
      rows = Math.floor(rows / 2)
      return true
    },
  }
}
