/** Delivers events to webhook endpoints, logs each attempt, and disables endpoints that fail for days. */

import { randomUUID } from 'node:crypto'

import type { Transaction } from 'kysely'

import type { QueueMail } from '../../directory/mail/messages.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import { type MessageHandler, Undeliverable } from '../../platform/outbox/outbox.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { markDisabled, openSecrets, type WebhookSeals } from './webhook-endpoints.ts'
import { findEvents, type WebhookEvent } from './webhook-event.ts'
import { signedHeaders } from './webhook-signature.ts'

export interface DeliveryPorts extends Pick<Platform, 'database' | 'fetch' | 'now'> {
  readonly seals: WebhookSeals
  readonly queueMail: QueueMail
}

/** The time limit of an attempt, including name resolution and the response. */
const ANSWER_WITHIN_MS = 10_000
/** How much of a response the log keeps. The rest is not read. */
const RESPONSE_BYTES_MAX = 1024
const ERROR_CHARACTERS_MAX = 200
const GONE = 410

/** Creates the outbox handler for webhooks. */
export function webhookHandler(ports: DeliveryPorts): MessageHandler {
  const { database, now } = ports
  const { kysely } = database
  return {
    async send({ queue, payload }, signal) {
      const endpoint = await kysely
        .selectFrom('webhook_endpoint')
        .selectAll()
        .where('id', '=', queue)
        .where('disabled_at', 'is', null)
        .executeTakeFirst()
      // A disabled endpoint gets the event when an operator enables it and chooses to send missed events.
      if (!endpoint) return
      const { eventId } = payload as { readonly eventId: string }
      const events = await findEvents(kysely, [eventId], endpoint.payload)
      const event = events.get(eventId)
      if (!event) return
      const result = await post(event, endpoint, ports, signal)
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
        // The receiver works, but rejects this event, which stays in the log as failed.
        if (accepted && reason !== GONE_REASON) return
        await disable(trx, { id: queue, reason, nowMs: now() }, ports.queueMail)
      })
    },
  }
}

interface Endpoint extends Pick<Schema['webhook_endpoint'], 'id' | 'url' | 'sealed_secret'> {
  readonly sealed_previous: string | null
  readonly previous_until: number | null
}

/** Sends an event and logs the attempt. A redirect counts as a failure, and is not followed. */
async function post(
  event: WebhookEvent,
  endpoint: Endpoint,
  { database, fetch, now, seals }: DeliveryPorts,
  signal: AbortSignal,
) {
  const nowMs = now()
  const body = JSON.stringify(event)
  const message = { id: event.id, seconds: Math.floor(nowMs / 1000), body }
  const secrets = openSecrets(endpoint, seals, nowMs)
  const headers = { 'content-type': 'application/json', ...signedHeaders(message, secrets) }
  const begunMs = performance.now()
  const cut = new AbortController()
  const limit = AbortSignal.any([signal, cut.signal, AbortSignal.timeout(ANSWER_WITHIN_MS)])
  const init = { method: 'POST', headers, body, signal: limit, purpose: 'webhook' } as const
  let status: number | null = null
  let response: string | null = null
  let error: string | null = null
  try {
    const answer = await fetch(endpoint.url, init)
    status = answer.status
    response = await beginningOf(answer)
    if (status === GONE) error = GONE_REASON
    else if (status < 200 || status > 299) error = `the receiver answered with status ${status}`
  } catch (cause) {
    error = String(cause instanceof Error ? cause.message : cause).slice(0, ERROR_CHARACTERS_MAX)
  } finally {
    // Closes the connection, also of a receiver that sends without end.
    cut.abort()
  }
  const duration_ms = Math.round(performance.now() - begunMs)
  const result = { status, error, response, duration_ms }
  const of = { id: randomUUID(), endpoint_id: endpoint.id, event_id: event.id, type: event.type }
  const row = { ...of, ...result, attempted_at: nowMs }
  await database.kysely.insertInto('webhook_delivery').values(row).execute()
  return result
}

const GONE_REASON = 'the receiver answered with status 410, which ends the subscription'

/** Reads the beginning of a response as text, without characters that databases reject. */
async function beginningOf({ body }: Response): Promise<string | null> {
  if (body === null) return null
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= RESPONSE_BYTES_MAX) break
  }
  const bytes = Buffer.concat(chunks).subarray(0, RESPONSE_BYTES_MAX)
  return bytes.toString('utf8').replaceAll('\0', '\ufffd')
}

interface Disabling {
  readonly id: string
  readonly reason: string
  readonly nowMs: number
}

/** Disables an endpoint, removes its queue, and notifies the owners of the site. No-op if it is disabled. */
async function disable(
  trx: Transaction<Schema>,
  { id, reason, nowMs }: Disabling,
  queueMail: QueueMail,
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
