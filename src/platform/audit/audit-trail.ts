import type { Kysely } from 'kysely'
import type { Logger } from 'pino'

import type { Database } from '../store/database.ts'
import type { Schema } from '../store/schema.ts'
import { unauthenticatedEvents } from './audit-actions.ts'
import { makeAuditStream, openEventSink, STREAM_SECONDS } from './audit-stream.ts'
import {
  type AuditNote,
  type AuditRow,
  type WaitingEvent,
  waitingEvent,
  withSites,
  writeAuditRows,
} from './record-audit-event.ts'

type NotedRequest = { readonly id: string } & Partial<
  Record<'client' | 'error' | 'detail' | 'address', string | undefined>
>

/** The maximum number of rows that wait to be written. The events of further rows are dropped and counted. */
export const WAITING_EVENTS_MAX = 5000
/** The maximum number of events per write. Small, because SQLite blocks the process while it writes. */
const EVENTS_PER_WRITE = 50

interface TrailPorts {
  readonly logger: Pick<Logger, 'warn'>
  readonly now: () => number
}

/** Opens the audit trail. If `place` is set (`stdout`, `stderr` or a file), also opens the stream. */
export function openAuditTrail(
  { place, flushSeconds }: { readonly place: string | undefined; readonly flushSeconds: number },
  { database, ...ports }: TrailPorts & { readonly database: Database },
) {
  const trail = makeAuditTrail(database, ports)
  const tasks = [{ name: 'audit', everySeconds: flushSeconds, run: trail.flush }]
  if (place === undefined) return { ...trail, tasks }
  const { run, end } = makeAuditStream(database, openEventSink(place), ports.now)
  tasks.push({ name: 'audit-stream', everySeconds: STREAM_SECONDS, run })
  return { ...trail, tasks, end: async () => await trail.end().then(end) }
}

/** Creates a trail that buffers events, so no request waits for them. A process that is killed loses its buffer. */
export function makeAuditTrail({ kysely }: Database, { logger, now }: TrailPorts) {
  const counted = countEvents()
  let waiting: WaitingEvent[] = []
  let dropped = 0

  const noteEvent = (note: AuditNote) => counted.count(note, now())
  const write = async (isEnd: boolean) => {
    for (const { note, at, times } of counted.take(now(), isEnd)) {
      const event = waitingEvent(note, at, times)
      if (waiting.length < WAITING_EVENTS_MAX) waiting.push(event)
      else dropped += times
    }
    while (waiting.length > 0) {
      const batch = waiting.slice(0, EVENTS_PER_WRITE)
      const rows = await withSites(kysely, batch)
      rows.push(...(await findRepeatedFailures(kysely, rows, now())))
      await kysely.transaction().execute(async (trx) => await writeAuditRows(trx, rows, now()))
      waiting = waiting.slice(batch.length)
    }
    if (dropped === 0) return
    const note: AuditNote = { action: 'audit.dropped', reason: 'the database could not keep up' }
    await writeAuditRows(kysely, [waitingEvent(note, now(), dropped).row], now())
    dropped = 0
  }

  return {
    noteEvent,

    /** Records a request that was rejected with `invalid_client`. Ignores all other requests. */
    noteRequest({ id: requestId, client: clientId, error, detail: reason, address }: NotedRequest) {
      if (error !== 'invalid_client') return
      noteEvent({ action: 'client.refused', clientId, reason, address, requestId })
    },

    /** Writes the events that are due. A failed write is retried at the next flush. */
    flush: async () => await write(false),

    /** Writes all events. If the write fails, logs how many rows and dropped events are lost. */
    async end() {
      await write(true).catch((error: unknown) => {
        const line = { cause: String(error), events: waiting.length + dropped }
        logger.warn(
          line,
          'audit events are lost, because they could not be written before the process exited',
        )
      })
    },
  }
}

/** An event is recorded after this many failed sign-ins to an account within this period. */
const FAILURES_MAX = 10
const FAILURES_WITHIN_MS = 15 * 60_000

/** Returns an event for each member with repeated sign-in failures, unless such an event exists in the same period. */
async function findRepeatedFailures(
  kysely: Kysely<Schema>,
  rows: readonly AuditRow[],
  nowMs: number,
) {
  const failed = rows.filter(({ action, site_id }) => action === 'sign_in.failure' && site_id)
  const groups = Map.groupBy(failed, ({ person_id, site_id }) => `${person_id} ${site_id}`)
  const found: AuditRow[] = []
  for (const [first, ...others] of groups.values()) {
    const { person_id: aboutPersonId, site_id: siteId } = first ?? {}
    if (!first || !aboutPersonId || !siteId) continue
    const earlier = await kysely
      .selectFrom('audit_event')
      .select(['action', 'times'])
      .where('site_id', '=', siteId)
      .where('person_id', '=', aboutPersonId)
      .where('occurred_at', '>', nowMs - FAILURES_WITHIN_MS)
      .where('action', 'in', ['sign_in.failure', 'sign_in.failed_repeatedly'])
      .execute()
    if (earlier.some(({ action }) => action !== 'sign_in.failure')) continue
    const count = [first, ...others, ...earlier].reduce((sum, { times }) => sum + (times ?? 1), 0)
    if (count < FAILURES_MAX) continue
    const note = { action: 'sign_in.failed_repeatedly', aboutPersonId, siteId } as const
    found.push(waitingEvent(note, nowMs).row)
  }
  return found
}

/** The maximum number of distinct events that get a row each, per action and minute. Further events share a row. */
export const KINDS_PER_MINUTE = { unauthenticated: 100, withSession: 20_000 } as const
const MINUTE_MS = 60_000

interface Tally {
  readonly note: AuditNote
  readonly minute: number
  isReported: boolean
  at: number
  /** Occurrences that have not been reported yet. */
  times: number
}

/** Combines events within a minute that differ only in address or request. Each group normally gets one or two rows. */
function countEvents() {
  let tallies = new Map<string, Tally>()
  let kinds = { minute: 0, ofAction: new Map<string, number>() }

  return {
    count(note: AuditNote, at: number): void {
      const { action, clientId, siteId, grantId, personId, aboutPersonId, reason } = note
      const minute = Math.floor(at / MINUTE_MS)
      if (minute !== kinds.minute) kinds = { minute, ofAction: new Map() }
      const known = kinds.ofAction.get(action) ?? 0
      const own = [action, minute, clientId, siteId, grantId, personId, aboutPersonId, reason]
      const ownKey = JSON.stringify(own)
      const { unauthenticated, withSession } = KINDS_PER_MINUTE
      const kindsMax = unauthenticatedEvents.has(action) ? unauthenticated : withSession
      const isSeparate = tallies.has(ownKey) || known < kindsMax
      const key = isSeparate ? ownKey : JSON.stringify([action, minute])
      const tally = tallies.get(key)
      if (tally) {
        Object.assign(tally, { at, times: tally.times + 1 })
        return
      }
      kinds.ofAction.set(action, known + 1)
      const counted = isSeparate ? note : { action, reason: 'further events with this action' }
      tallies.set(key, { note: counted, minute, isReported: false, at, times: 1 })
    },

    /**
     * Removes and returns due events: new ones, and repetitions from past minutes. With `all`, also returns
     * the repetitions from this minute.
     */
    take(nowMs: number, all: boolean): Pick<Tally, 'note' | 'times' | 'at'>[] {
      const minute = Math.floor(nowMs / MINUTE_MS)
      const due = [...tallies.values()].filter(
        (tally) => tally.times > 0 && (all || !tally.isReported || tally.minute !== minute),
      )
      const taken = due.map(({ note, times, at }) => ({ note, times, at }))
      for (const tally of due) Object.assign(tally, { isReported: true, times: 0 })
      tallies = new Map([...tallies].filter(([, tally]) => tally.minute === minute))
      return taken
    },
  }
}
