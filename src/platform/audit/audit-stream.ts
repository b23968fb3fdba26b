import { randomUUID } from 'node:crypto'

import type { Database } from '../store/database.ts'
import { eventLine } from './event-line.ts'
import type { EventSink } from './event-sink.ts'

export interface AuditStreamPorts {
  readonly database: Pick<Database, 'kysely'>
  readonly sink: EventSink
  readonly now: () => number
}

/** How often somebody looks for events that have not gone out. */
export const STREAM_SECONDS = 1
/** Whoever streams keeps the turn for so long after its last look; then another process takes it. */
const TURN_MS = 30_000
const EVENTS_PER_READ = 200
/** The row of `setting` that says whose turn it is. */
const TURN = 'audit_stream'

/**
 * Every row of the audit trail as a line of JSON, from the database: what is in the trail goes out, and
 * what is not never did. One process at a time does it for all. A row is marked when the sink has taken
 * its line, so that after a crash in between the line comes again, with the same id: at least once.
 */
export function makeAuditStream({ database: { kysely }, sink, now }: AuditStreamPorts) {
  const holder = randomUUID()

  /** Whether it is this process's turn: it had it before, nobody had it, or whoever had it is silent. */
  const takeTurn = async (nowMs: number) => {
    const taken = await kysely
      .insertInto('setting')
      .values({ name: TURN, value: holder, updated_at: nowMs })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ value: holder, updated_at: nowMs })
          .where((eb) =>
            eb.or([
              eb('setting.value', '=', holder),
              eb('setting.updated_at', '<', nowMs - TURN_MS),
            ]),
          ),
      )
      .returning('name')
      .executeTakeFirst()
    return taken !== undefined
  }

  const sendSome = async () => {
    const rows = await kysely
      .selectFrom('audit_event')
      .selectAll()
      .where('streamed_at', 'is', null)
      .orderBy('occurred_at')
      .orderBy('id')
      .limit(EVENTS_PER_READ)
      .execute()
    if (rows.length === 0) return false
    await sink(rows.map(eventLine))
    const ids = rows.map(({ id }) => id)
    await kysely
      .updateTable('audit_event')
      .set({ streamed_at: now() })
      .where('id', 'in', ids)
      .execute()
    return rows.length === EVENTS_PER_READ
  }

  const run = async (signal?: AbortSignal) => {
    while (!signal?.aborted && (await takeTurn(now())) && (await sendSome())) {
      // There may be more.
    }
  }

  return {
    run,

    /** Sends what is left and gives the turn away. */
    async end(): Promise<void> {
      await run()
      await kysely
        .updateTable('setting')
        .set({ updated_at: 0 })
        .where('name', '=', TURN)
        .where('value', '=', holder)
        .execute()
    },
  }
}
