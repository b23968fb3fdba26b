import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'

import type { Selectable } from 'kysely'

import type { Database } from '../store/database.ts'
import type { Schema } from '../store/schema.ts'

/** Takes whole lines. Resolves when they are kept. */
export type EventSink = (lines: readonly string[]) => Promise<void>

/** How often a process looks for events that have not gone out. */
export const STREAM_SECONDS = 1
/** A process keeps the turn for so long after its last look. */
const TURN_MS = 30_000
const EVENTS_PER_READ = 200
/** The row of `setting` that says whose turn it is. */
const TURN = 'audit_stream'

/**
 * Sends every row of the audit trail as a line of JSON, from the database, so that the stream and the trail agree.
 * One process at a time does it for all. A row is marked once the sink has taken its line: after a crash in
 * between, the line comes again with the same id (at least once).
 */
export function makeAuditStream({ kysely }: Database, sink: EventSink, now: () => number) {
  const holder = randomUUID()

  /** Takes the turn if this process had it before, or no process had it lately. */
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

  /** @returns whether there may be more */
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
    let isMore = true
    while (isMore && !signal?.aborted) isMore = (await takeTurn(now())) && (await sendSome())
  }

  return {
    run,

    /** Sends the rest and gives the turn away. */
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

/** The version of the format in docs/audit-event.schema.json. A new field does not change it. */
const EVENT_VERSION = 1

/** An event as one line of JSON, without the line break; unknown fields are left out. */
export function eventLine(row: Selectable<Schema['audit_event']>): string {
  return JSON.stringify({
    version: EVENT_VERSION,
    id: row.id,
    time: new Date(row.occurred_at).toISOString(),
    action: row.action,
    actor: row.actor_person_id ?? undefined,
    person: row.person_id ?? undefined,
    client: row.client_id ?? undefined,
    site: row.site_id ?? undefined,
    subject: { kind: row.subject_kind, id: row.subject_id },
    reason: row.reason ?? undefined,
    count: row.times ?? 1,
    address: row.address ?? undefined,
    request_id: row.request_id ?? undefined,
    before: row.before === null ? undefined : JSON.parse(row.before),
    after: row.after === null ? undefined : JSON.parse(row.after),
  })
}

/** Writes events to a stream of the process, or to the end of a file that only its owner reads. */
export function openEventSink(place: string): EventSink {
  if (place !== 'stdout' && place !== 'stderr') return (lines) => appendTo(place, lines)
  return async (lines) => {
    // One at a time, so that no line of the log cuts one.
    for (const line of lines) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      process[place].write(`${line}\n`, (error) => (error ? reject(error) : resolve()))
      await promise
    }
  }
}

/** Opens the file each time, so that it can be rotated. */
async function appendTo(path: string, lines: readonly string[]): Promise<void> {
  await using file = await open(path, 'a+', 0o600)
  const { size } = await file.stat()
  const last = size === 0 ? undefined : await file.read({ position: size - 1, length: 1 })
  // A killed process may have left half a line; its event comes again below.
  const mended = last === undefined || last.buffer.toString('utf8', 0, 1) === '\n' ? '' : '\n'
  await file.writeFile(`${mended}${lines.join('\n')}\n`)
  await file.datasync()
}
