/**
 * Stores each message to another server in the transaction that causes it, and sends it at least once, unless it is
 * undeliverable or too old. Sends messages of the same queue and subject in order, and lets a slow receiver delay
 * only its own queue.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { type Kysely, type Selectable, sql } from 'kysely'
import type { Logger } from 'pino'

import type { Database } from '../store/database.ts'
import { inBatches } from '../store/in-batches.ts'
import type { MessageKind, Schema } from '../store/schema.ts'

/** A stored message. Its id is the same in every attempt to send it. */
interface OutboxMessage {
  readonly id: string
  /** The receiver: `mail`, the id of a webhook endpoint, or `sign-out` followed by a client_id. */
  readonly queue: string
  readonly payload: unknown
  readonly createdAt: number
  /** The number of this attempt; 1 for the first. */
  readonly attempt: number
}

/** Sends the messages of one kind. */
export interface MessageHandler {
  /** Sends a message. Must stop when `signal` aborts. @throws Undeliverable, or another error to try again later */
  readonly send: (message: OutboxMessage, signal: AbortSignal) => Promise<void>
  /** Called before a message that is undeliverable or too old is dropped. If this call fails, the message stays. */
  readonly gaveUp: (message: OutboxMessage, reason: string) => void | Promise<void>
}

/** The handlers by kind; undefined for a kind that is switched off. */
export type Handlers = Readonly<Record<string, MessageHandler | undefined>>

/** Thrown for a permanent failure, after which a retry could not deliver the message either. */
export class Undeliverable extends Error {}

interface OutboxPorts {
  readonly database: Database
  readonly now: () => number
  readonly logger: Logger
  /** Whether this process sends the messages; undefined for a single process, which always does. */
  readonly sweeps: (() => boolean) | undefined
  /** How often one process on each host looks for due messages. */
  readonly lookMs: number
  readonly noteAttempt: (kind: string, outcome: 'sent' | 'postponed' | 'dropped') => void
}

/** The time limit of an attempt to send a message. */
export const SEND_WITHIN_MS = 30_000
/** How long a claim lasts. Longer than an attempt, so normally only a crash makes another process send the message. */
export const CLAIM_MS = 120_000
/** How long attempts may continue after the signal to stop. */
const STOP_WITHIN_MS = 5_000
/** Delays between attempts, in seconds. The last delay repeats. */
export const WAITS_SECONDS = [10, 30, 120, 600, 3600]
/** For how many days a message is retried before it is dropped. */
const TRY_DAYS_MAX = 3
const MESSAGES_AT_ONCE = 256
/** The maximum number of messages from one queue that are sent at once. */
const QUEUE_AT_ONCE = 8
/** How long to wait after a message is sent, so that one query deletes all messages sent in that time. */
const BATCH_MS = 10
/** The maximum time between two checks for due messages while other messages are being sent. */
const LOOK_MS = 1_000
const ERROR_CHARACTERS_MAX = 200
const DAY_MS = 86_400_000

/** Creates the background task that sends due messages. */
export const outboxTask = (handlers: Handlers, ports: OutboxPorts) => ({
  name: 'outbox',
  everySeconds: ports.lookMs / 1000,
  onlyWhen: ports.sweeps,
  run: async (signal: AbortSignal) => await sendDue(handlers, ports, signal),
})

interface NewMessage {
  readonly kind: MessageKind
  readonly queue?: string
  readonly payload: object
  readonly nowMs: number
}

/** Stores a message in the caller's transaction, to be sent after the commit. `payload` must contain no secret. */
export async function storeMessage(
  trx: Kysely<Schema>,
  { kind, queue = kind, payload, nowMs }: NewMessage,
): Promise<void> {
  const row = { id: randomUUID(), kind, queue, subject: null, attempts: 0 }
  const times = { created_at: nowMs, due_at: nowMs }
  await trx
    .insertInto('outbox')
    .values({ ...row, ...times, payload: JSON.stringify(payload), last_error: null })
    .execute()
}

/** Returns the number of stored messages of each kind, the time of the oldest, and an error from a postponed one. */
export async function waitingMessages({ kysely }: Pick<Database, 'kysely'>) {
  const rows = await kysely
    .selectFrom('outbox')
    .select(({ fn }) => [
      'kind',
      fn.countAll<number>().as('count'),
      fn.min('created_at').as('oldestAt'),
      fn.max('last_error').as('error'),
    ])
    .groupBy('kind')
    .execute()
  return new Map(rows.map((row) => [row.kind, row]))
}

/** Sends the due messages, a limited number per queue at a time, until none is due. */
async function sendDue(handlers: Handlers, ports: OutboxPorts, signal: AbortSignal): Promise<void> {
  const sending = new Map<Promise<void>, Row>()
  const { kysely } = ports.database
  const remove = inBatches(
    async (ids: readonly string[]) =>
      await kysely.deleteFrom('outbox').where('id', 'in', ids).execute(),
    BATCH_MS,
  )
  const cut = new AbortController()
  const stop = () => setTimeout(() => cut.abort(), STOP_WITHIN_MS).unref()
  signal.addEventListener('abort', stop, { once: true })
  let ended = Promise.withResolvers<void>()
  try {
    while (!signal.aborted) {
      const { rows, more } = await claim(ports, [...sending.values()])
      for (const row of rows) {
        const running = { ...ports, remove, cut: cut.signal }
        const sent = attempt(row, handlers[row.kind], running).finally(() => {
          sending.delete(sent)
          ended.resolve()
        })
        sending.set(sent, row)
      }
      if (sending.size === 0) return
      if (more && rows.length > 0) continue
      await Promise.race([ended.promise, delay(LOOK_MS, undefined, { ref: false })])
      ended = Promise.withResolvers<void>()
      await delay(BATCH_MS)
    }
  } finally {
    await Promise.all(sending.keys())
    signal.removeEventListener('abort', stop)
  }
}

type Row = Selectable<Schema['outbox']>

/**
 * Claims due messages by postponing them. Of messages with the same queue and subject, claims only the first. On
 * PostgreSQL, skips rows that another process is claiming. `more` means that further messages may be due.
 */
async function claim({ database, now }: OutboxPorts, sending: readonly Row[]) {
  const free = MESSAGES_AT_ONCE - sending.length
  if (free <= 0) return { rows: [], more: false }
  const { kysely, engine } = database
  const nowMs = now()
  const counts = new Map<string, number>()
  const take = (queue: string) => {
    const count = counts.get(queue) ?? 0
    counts.set(queue, count + 1)
    return count < QUEUE_AT_ONCE
  }
  for (const { queue } of sending) take(queue)
  const full = [...counts].flatMap(([queue, count]) => (count >= QUEUE_AT_ONCE ? queue : []))
  // Read first, because an update that matches no row would still take SQLite's write lock.
  const due = await kysely
    .selectFrom('outbox as o')
    .select(['o.id', 'o.queue'])
    .where('o.due_at', '<=', nowMs)
    .where(
      sql<boolean>`not exists (select 1 from outbox e
        where e.queue = o.queue and e.subject = o.subject and e.position < o.position)`,
    )
    .$if(full.length > 0, (query) => query.where('o.queue', 'not in', full))
    .orderBy('o.due_at')
    .orderBy('o.position')
    .limit(free)
    .execute()
  const ids = due.flatMap(({ id, queue }) => (take(queue) ? id : []))
  if (ids.length === 0) return { rows: [], more: false }
  const unclaimed = kysely
    .selectFrom('outbox')
    .select('id')
    .where('id', 'in', ids)
    .where('due_at', '<=', nowMs)
    .$if(engine === 'postgres', (query) => query.forUpdate().skipLocked())
  const rows = await kysely
    .updateTable('outbox')
    .set({ due_at: nowMs + CLAIM_MS, attempts: sql<number>`attempts + 1` })
    .where('id', 'in', unclaimed)
    .returningAll()
    .execute()
  rows.sort((one, other) => one.position - other.position)
  return { rows, more: ids.length < due.length || due.length === free }
}

interface Running extends OutboxPorts {
  /** Deletes the row of a message that was sent or dropped. */
  readonly remove: (id: string) => Promise<unknown>
  readonly cut: AbortSignal
}

/** Sends one claimed message, and deletes or postpones its row. Never rejects. */
async function attempt(
  row: Row,
  handler: MessageHandler | undefined,
  running: Running,
): Promise<void> {
  const { logger, now, noteAttempt, cut } = running
  const { id, kind, queue } = row
  const { created_at: createdAt, attempts } = row
  const message = { id, queue, payload: JSON.parse(row.payload), createdAt, attempt: attempts }
  const claimEndsMs = performance.now() + CLAIM_MS - SEND_WITHIN_MS
  let failure: unknown
  try {
    if (!handler) throw new Undeliverable('this service does not send this kind of message')
    await handler.send(message, AbortSignal.any([cut, AbortSignal.timeout(SEND_WITHIN_MS)]))
  } catch (error) {
    failure = error
  }
  const reason = failure instanceof Error ? failure.message : String(failure)
  const isOld = now() >= createdAt + TRY_DAYS_MAX * DAY_MS
  let outcome = outcomeOf(failure, isOld)
  try {
    if (outcome === 'dropped') await handler?.gaveUp(message, reason)
  } catch (cause) {
    outcome = 'postponed'
    logger.error(
      { message: id, kind, cause },
      'an outbox message could not be dropped, and stays in the outbox',
    )
  }
  const isOver = () => cut.aborted || performance.now() > claimEndsMs
  const lastError = outcome === 'postponed' ? reason.slice(0, ERROR_CHARACTERS_MAX) : undefined
  await settleMessage(row, lastError, running, isOver).catch((cause: unknown) =>
    logger.error(
      { message: id, kind, outcome, cause },
      'the row of an outbox message could not be updated, so the message may be sent again',
    ),
  )
  noteAttempt(kind, outcome)
  if (outcome === 'sent') return
  const line = { message: id, kind, attempt: attempts, outcome, cause: reason }
  logger.warn(line, 'an outbox message was not sent')
}

function outcomeOf(failure: unknown, isOld: boolean): 'sent' | 'dropped' | 'postponed' {
  if (failure === undefined) return 'sent'
  return failure instanceof Undeliverable || isOld ? 'dropped' : 'postponed'
}

const SETTLE_AGAIN_MS = 1_000

/**
 * Deletes the row or, if `lastError` is set, postpones it and the messages that must wait for it. Retries failed writes
 * until the claim ends or the service stops, because a message is sent again if its row remains.
 */
async function settleMessage(
  { id, attempts, queue, subject }: Row,
  lastError: string | undefined,
  { database: { kysely }, now, remove }: Running,
  isOver: () => boolean,
): Promise<void> {
  const wait = WAITS_SECONDS[attempts - 1] ?? WAITS_SECONDS.at(-1) ?? 0
  const postponed = kysely.updateTable('outbox').where((eb) => eb.and({ id, attempts }))
  for (;;) {
    try {
      if (lastError === undefined) return void (await remove(id))
      const next = { due_at: now() + wait * 1000, last_error: lastError }
      await postponed.set(next).execute()
      if (subject === null) return
      // Later messages must wait, too. Postpone them, so the next checks do not read them again.
      await kysely
        .updateTable('outbox')
        .set({ due_at: next.due_at })
        .where((eb) => eb.and({ queue, subject }))
        .where('due_at', '<', next.due_at)
        .execute()
      return
    } catch (error) {
      if (isOver()) throw error
      await delay(SETTLE_AGAIN_MS)
    }
  }
}
