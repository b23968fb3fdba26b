/** What has expired is removed: in small statements, for as long as there is more of it. */

import { setTimeout as delay } from 'node:timers/promises'

import type { Logger } from 'pino'

import { STALE_MS } from '../../oauth/clients/document-clients.ts'
import { CALL_DAYS, dayOf } from '../../oauth/grants/grant-store.ts'
import type { Database } from '../../platform/store/database.ts'
import { type ExpiringRows, removeExpired } from '../../platform/store/remove-expired.ts'

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

export interface Keeping {
  /** How long what was issued to a client can live; the copy of its document is needed as long. */
  readonly tokensLiveSeconds: number
  /** How long the audit trail is kept. */
  readonly auditDays: number
}

/** One kind of rows that go, and when. */
type Expiring = ExpiringRows & {
  /** The last value of the expiry that is over at this time: the time itself unless it says otherwise. */
  readonly until?: (nowMs: number) => number
  /** As many as one statement removes: with all that goes with them, about a thousand rows. */
  readonly rowsMax?: number
  /** Tables below this one. They come first, so that little is left to go with a row. */
  readonly after?: readonly ExpiringRows['table'][]
}

const DAY_MS = 86_400_000
const ROWS_MAX = 1000

/** Rows that the clean-up deletes, and when; docs/reference/retention.md lists them. */
export function whatExpires({ tokensLiveSeconds, auditDays }: Keeping): readonly Expiring[] {
  const callDaysAgo = (nowMs: number) => dayOf(nowMs) - CALL_DAYS
  const msAgo = (ms: number) => (nowMs: number) => nowMs - ms
  return [
    { table: 'oauth_state', expiry: 'expires_at' },
    { table: 'refresh_token_family', expiry: 'kept_until' },
    { table: 'relying_party_session', expiry: 'expires_at' },
    // Five tries are over long before, unless a host is away that very many notices wait for.
    { table: 'sign_out_notice', expiry: 'next_attempt_at', until: msAgo(DAY_MS) },
    { table: 'signed_out_session', expiry: 'kept_until' },
    { table: 'change_key', expiry: 'expires_at' },
    { table: 'unused_client', expiry: 'expires_at' },
    { table: 'request_count', expiry: 'ends_at' },
    { table: 'platform_callback', expiry: 'expires_at' },
    {
      table: 'audit_event',
      expiry: 'occurred_at',
      until: msAgo(auditDays * DAY_MS),
      rowsMax: 500,
    },
    { table: 'site_refusal_day', expiry: 'day', until: callDaysAgo },
    { table: 'oauth_grant_day', expiry: 'day', until: callDaysAgo },
    {
      // With each go its scopes and the last days of its use.
      table: 'oauth_grant',
      expiry: 'expires_at',
      rowsMax: 16,
      after: ['refresh_token_family', 'relying_party_session', 'oauth_grant_day'],
    },
    {
      // Every authorization request can add a row, and these were not reviewed.
      table: 'document_client',
      expiry: 'fetched_at',
      unset: 'review',
      until: msAgo(STALE_MS + tokensLiveSeconds * 1000 + 1),
      rowsMax: 500,
    },
  ]
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
  /** How many rows this run removed; those that went with them are not counted by a database. */
  removed: number
}

/**
 * Makes the task that removes what has expired. A run goes on until nothing is left, its time is over, or
 * the signal comes.
 *
 * @throws what the database says, except that a statement took too long
 */
export function makeCleanUp(ports: CleanUpPorts): (signal: AbortSignal) => Promise<void> {
  const { database, keeping, logger, runSeconds, clock = () => performance.now() } = ports
  const { now, pause = pauseUnlessStopped } = ports
  const statementMs = STATEMENT_MS[database.engine]
  const lines = whatExpires(keeping).map((kind): Line => {
    const size = makeBatchSize(kind.rowsMax ?? ROWS_MAX, statementMs)
    return { kind, size, from: 0, more: true, due: false, removed: 0 }
  })
  const waits = ({ kind }: Line) =>
    lines.some((other) => other.more && kind.after?.includes(other.kind.table))
  return async (signal) => {
    for (const line of lines) Object.assign(line, { due: true, removed: 0 })
    const counts = { statements: 0, cancelled: 0, longestMs: 0 }
    const startedMs = clock()
    let failed = true
    try {
      while (!signal.aborted && clock() < startedMs + runSeconds * 1000) {
        const line = lines.find((candidate) => candidate.due && !waits(candidate))
        if (!line) break
        // Then it is the turn of the others, in the next run too, however many of these there are.
        lines.push(...lines.splice(lines.indexOf(line), 1))
        const batchStartedMs = clock()
        const removed = await removeBatch(database, line, now())
        const ms = clock() - batchStartedMs
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

/** @returns the expiry of each row, or nothing when the statement was cancelled */
async function removeBatch(database: Database, { kind, size, from }: Line, nowMs: number) {
  const until = kind.until?.(nowMs) ?? nowMs
  return await removeExpired(database, kind, { from, until, rowsMax: size.rows })
}

/** Decides what comes next for these rows, after a statement that took so long. */
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

/** Leaves the process to others, and ends at once when it stops. */
async function pauseUnlessStopped(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

/** One line for a run that did something, or that left something which it should have removed. */
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
