import type { Logger } from 'pino'

import type { Database } from '../store/database.ts'
import { writeAuditRows } from './audit-log.ts'
import { countEvents } from './counted-events.ts'
import {
  type AuditNote,
  type NoteEvent,
  type WaitingEvent,
  waitingEvent,
  withSites,
} from './event-rows.ts'

/** How a request ended, as far as the trail wants to hear of it. */
export interface HeardRequest {
  readonly id: string
  readonly address?: string | undefined
  readonly client?: string | undefined
  readonly error?: string | undefined
  readonly detail?: string | undefined
}

export interface AuditTrailPorts {
  readonly logger: Pick<Logger, 'warn'>
  readonly now: () => number
}

/** So many events wait to be written at most; those that come then are counted as dropped. */
export const WAITING_EVENTS_MAX = 5000
// SQLite stands still while it writes, so it is given little at a time.
const EVENTS_PER_WRITE = 50

/**
 * Events that no transaction carries. They gather in memory and are written every few seconds and when
 * the process stops, so that no request waits for them and none is asked of the database for them; a
 * process that is killed loses what it gathered in between.
 */
export function makeAuditTrail({ kysely }: Database, { logger, now }: AuditTrailPorts) {
  const counted = countEvents()
  let waiting: WaitingEvent[] = []
  let dropped = 0

  const wait = (event: WaitingEvent) => {
    if (waiting.length < WAITING_EVENTS_MAX) waiting.push(event)
    else dropped += event.row.times ?? 1
  }
  const noteEvent: NoteEvent = (note) => counted.count(note, now())
  const write = async (all: boolean) => {
    for (const { note, at, times } of counted.take(now(), all)) wait(waitingEvent(note, at, times))
    while (waiting.length > 0) {
      const batch = waiting.slice(0, EVENTS_PER_WRITE)
      await writeAuditRows(kysely, await withSites(kysely, batch))
      waiting = waiting.slice(batch.length)
    }
    if (dropped === 0) return
    const note: AuditNote = { action: 'audit.dropped', reason: 'the database did not keep up' }
    const lost = waitingEvent(note, now(), dropped)
    await writeAuditRows(kysely, [lost.row])
    dropped = 0
  }

  return {
    noteEvent,

    /** Takes note of a request in which a client did not prove who it is. */
    hear({ id, address, client, error, detail }: HeardRequest): void {
      if (error !== 'invalid_client') return
      const note = { clientId: client, reason: detail, address, requestId: id } as const
      noteEvent({ action: 'client.refused', ...note })
    },

    /** Writes what is due. What cannot be written is kept for the next time. */
    flush: async () => await write(false),

    /** Writes everything, because nothing comes any more; what cannot be written is lost, which is logged. */
    async end() {
      await write(true).catch((error: unknown) => {
        const line = { cause: String(error), events: waiting.length + dropped }
        logger.warn(line, 'events of the audit trail were lost at the end of the process')
      })
    },
  }
}
