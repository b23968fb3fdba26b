/** Delivers events to webhook endpoints, logs each attempt, and disables endpoints that fail for days or return 410. */

import { randomUUID } from 'node:crypto'

import type { Insertable, Kysely, Selectable, Transaction } from 'kysely'

import { queueMail } from '../../directory/mail/messages.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Seals } from '../../platform/http/kept-values.ts'
import { type MessageHandler, Undeliverable } from '../../platform/outbox/outbox.ts'
import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import { readStart } from '../../platform/outgoing/read-start.ts'
import type { Database } from '../../platform/store/database.ts'
import { inBatches } from '../../platform/store/in-batches.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type KeysOf, makeKeysOf, markDisabled } from './webhook-endpoints.ts'
import { findAuditEvents, type WebhookEvent, webhookEventOf } from './webhook-event.ts'
import { signedHeaders } from './webhook-signature.ts'

export interface DeliveryPorts {
  readonly database: Database
  readonly fetch: SendOutgoing
  readonly now: () => number
  readonly seals: Seals
}

/** The time limit for an attempt, including name resolution and the response. */
const ANSWER_WITHIN_MS = 10_000
/** The maximum number of response bytes that the log keeps. The rest is not read. */
const RESPONSE_BYTES_MAX = 1024
const ERROR_CHARACTERS_MAX = 200
/** How long a log entry waits for entries of other attempts, so one statement can write all of them. */
const LOG_WITHIN_MS = 10
const GONE = 410

/** Creates the outbox handler for webhooks. */
export function webhookHandler(ports: DeliveryPorts): MessageHandler {
  const { database, now } = ports
  const { kysely } = database
  const load = inBatches(async (all: readonly Delivery[]) => await loadAll(kysely, all), 0)
  const insert = async (rows: readonly LogRow[]) => {
    const inserted = kysely.insertInto('webhook_delivery').values(rows)
    await inserted.onConflict((known) => known.column('id').doNothing()).execute()
  }
  const insertSoon = inBatches(insert, LOG_WITHIN_MS)
  // If the batch fails, for example because another endpoint was deleted, log the attempt alone.
  const log = async (row: LogRow) => await insertSoon(row).catch(async () => await insert([row]))
  const posting = { ...ports, keysOf: makeKeysOf(ports.seals), log }
  return {
    async send({ queue, payload }, signal) {
      const { eventId } = payload as { readonly eventId: string }
      const { endpoints, events } = await load({ queue, eventId })
      const endpoint = endpoints.get(queue)
      const row = events.get(eventId)
      // Skip a disabled endpoint. An operator who enables it again can choose to send the missed events.
      const event = endpoint && row && webhookEventOf(row, endpoint.payload)
      if (!event) return
      const result = await postEvent(event, endpoint, posting, signal)
      if (result.error === null) return
      if (result.status === GONE) throw new Undeliverable(result.error)
      throw new Error(result.error)
    },
    async gaveUp({ queue, createdAt }, reason) {
      await kysely.transaction().execute(async (trx) => {
        const accepted = await trx
          .selectFrom('webhook_delivery')
          .select('id')
          .where('endpoint_id', '=', queue)
          .where('attempted_at', '>', createdAt)
          .where('error', 'is', null)
          .limit(1)
          .executeTakeFirst()
        // Keep an endpoint enabled if it has accepted an event since this one was queued, unless it responded with 410.
        if (accepted && reason !== GONE_REASON) return
        await disable(trx, { id: queue, reason, nowMs: now() })
      })
    },
  }
}

interface Delivery {
  readonly queue: string
  readonly eventId: string
}

type Endpoint = Selectable<Schema['webhook_endpoint']>
type LogRow = Insertable<Schema['webhook_delivery']>

/** Reads the events of deliveries, and their endpoints. Omits disabled endpoints. */
async function loadAll(kysely: Kysely<Schema>, deliveries: readonly Delivery[]) {
  const rows = await kysely
    .selectFrom('webhook_endpoint')
    .selectAll()
    .where('id', 'in', [...new Set(deliveries.map(({ queue }) => queue))])
    .where('disabled_at', 'is', null)
    .execute()
  const events = await findAuditEvents(kysely, [...new Set(deliveries.map((one) => one.eventId))])
  return { endpoints: new Map(rows.map((row) => [row.id, row])), events }
}

interface PostingPorts extends Pick<DeliveryPorts, 'fetch' | 'now'> {
  readonly keysOf: KeysOf
  readonly log: (row: LogRow) => Promise<unknown>
}

/** Sends an event and logs the attempt. A redirect counts as a failure, and is not followed. */
async function postEvent(
  event: WebhookEvent,
  endpoint: Endpoint,
  { fetch, now, keysOf, log }: PostingPorts,
  signal: AbortSignal,
) {
  const nowMs = now()
  const body = JSON.stringify(event)
  const message = { id: event.id, seconds: Math.floor(nowMs / 1000), body }
  const signed = signedHeaders(message, keysOf(endpoint, nowMs))
  const headers = { 'content-type': 'application/json', ...signed }
  const begunMs = performance.now()
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)])
  const init = { method: 'POST', headers, body, signal: limit, purpose: 'webhook' } as const
  let status: number | null = null
  let response: string | null = null
  let error: string | null = null
  try {
    const answer = await fetch(endpoint.url, init)
    status = answer.status
    const { bytes } = await readStart(answer, RESPONSE_BYTES_MAX)
    // PostgreSQL cannot store NUL.
    response = bytes.toString('utf8').replaceAll('\0', '\ufffd') || null
    if (status === GONE) error = GONE_REASON
    else if (status < 200 || status > 299) error = `the receiver responded with status ${status}`
  } catch (cause) {
    error = String(cause instanceof Error ? cause.message : cause).slice(0, ERROR_CHARACTERS_MAX)
  }
  const duration_ms = Math.round(performance.now() - begunMs)
  const result = { status, error, response, duration_ms }
  const of = { id: randomUUID(), endpoint_id: endpoint.id, event_id: event.id, type: event.type }
  await log({ ...of, ...result, attempted_at: nowMs })
  return result
}

const GONE_REASON = 'the receiver responded with status 410, which ends the subscription'

/** Disables an endpoint, removes its queue, and notifies the site's owners. No-op if it is already disabled. */
async function disable(
  trx: Transaction<Schema>,
  { id, reason, nowMs }: Readonly<{ id: string; reason: string; nowMs: number }>,
): Promise<void> {
  const endpoint = await markDisabled(trx, { id, reason, nowMs })
  if (!endpoint) return
  const { site_id: siteId, url } = endpoint
  const change = { subject: { kind: 'webhook_endpoint', id }, siteId, reason, after: { url } }
  await recordAuditEvent(trx, { now: nowMs }, { action: 'webhook.disable', ...change })
  const owners = await trx
    .selectFrom('site_role')
    .select('person_id')
    .where('site_id', '=', siteId)
    .where('role', '=', 'owner')
    .execute()
  for (const { person_id: personId } of owners) {
    const values = { url: new URL(url).host, reason }
    await queueMail(trx, { kind: 'webhook_disabled', personId, siteId, values }, nowMs)
  }
}
