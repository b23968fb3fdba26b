import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'

import { type Selectable, sql } from 'kysely'

import type { Database } from '../store/database.ts'
import type { Schema } from '../store/schema.ts'

/** Writes lines, and resolves once they are written. */
export type EventSink = (lines: readonly string[]) => Promise<void>

/** How often a process looks for unsent events. */
export const STREAM_SECONDS = 1
/** How long a lease stays valid without renewal. */
const LEASE_MS = 30_000
const EVENTS_PER_READ = 200
const LEASE = 'audit_stream'

/**
 * Creates the audit stream, which writes every row of the trail as one line of JSON. It reads the rows from the
 * database, so the stream matches the trail. Only the process that holds the lease writes. Delivery is at least once: a
 * row is marked as sent only after its line is written. A crash in between repeats the line, with the same id.
 */
export function makeAuditStream({ kysely }: Database, sink: EventSink, now: () => number) {
  const holder = randomUUID()

  /** Takes or renews the lease. @returns false if another process holds it */
  const takeLease = async (nowMs: number) => {
    const { rows } = await sql`
      insert into setting (name, value, updated_at) values (${LEASE}, ${holder}, ${nowMs})
      on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at
      where setting.value = excluded.value or setting.updated_at < ${nowMs - LEASE_MS}
      returning name`.execute(kysely)
    return rows.length > 0
  }

  /** Sends and marks up to EVENTS_PER_READ events. @returns whether more may be waiting */
  const sendBatch = async () => {
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
    const sent = kysely.updateTable('audit_event').where('id', 'in', ids)
    await sent.set({ streamed_at: now() }).execute()
    return rows.length === EVENTS_PER_READ
  }

  const run = async (signal?: AbortSignal) => {
    let isMore = true
    while (isMore && !signal?.aborted) isMore = (await takeLease(now())) && (await sendBatch())
  }

  return {
    run,

    /** Sends the remaining events, unless another process holds the lease. Releases the lease of this process. */
    async end(): Promise<void> {
      await run()
      const lease = kysely.updateTable('setting').where('name', '=', LEASE)
      await lease.where('value', '=', holder).set({ updated_at: 0 }).execute()
    },
  }
}

/** The format version in docs/audit-event.schema.json. Adding a field does not change the version. */
const EVENT_VERSION = 1

/** Formats an event as one line of JSON, without the line break. */
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

/** Creates a sink that appends to standard output or error, or to a file. A new file is readable only by its owner. */
export function openEventSink(place: string): EventSink {
  if (place !== 'stdout' && place !== 'stderr') return (lines) => appendTo(place, lines)
  return async (lines) => {
    // One write per line, so log lines of this process cannot split an event.
    for (const line of lines) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      process[place].write(`${line}\n`, (error) => (error ? reject(error) : resolve()))
      await promise
    }
  }
}

/** Appends lines to a file and flushes it. Opens the file for each batch, to support log rotation. */
async function appendTo(path: string, lines: readonly string[]): Promise<void> {
  await using file = await open(path, 'a+', 0o600)
  const { size } = await file.stat()
  const last = size === 0 ? undefined : await file.read({ position: size - 1, length: 1 })
  // A killed process may have left a partial line. End it with a newline; the event is written again.
  const separator = last === undefined || last.buffer.toString('utf8', 0, 1) === '\n' ? '' : '\n'
  await file.writeFile(`${separator}${lines.join('\n')}\n`)
  await file.datasync()
}
