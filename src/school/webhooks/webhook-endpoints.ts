/** Stores the webhook endpoints of sites, with their secrets encrypted, and replays events. */

import { type Kysely, type Selectable, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'

import { eventQueueing, eventTypes } from '../../platform/audit/event-types.ts'
import type { Seals } from '../../platform/http/kept-values.ts'
import { leadsToThisMachine } from '../../platform/http/loopback.ts'
import { storeMessage } from '../../platform/outbox/outbox.ts'
import { isPrivateHost } from '../../platform/outgoing/guarded-fetch.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { endpointLabel } from '../../platform/store/sealed-secrets.ts'
import { changeSite, type SiteActor, type SiteWork, siteCreation } from '../changes/change.ts'
import { idempotencyKey, readInput } from '../changes/input.ts'
import { badInput, conflict, limitReached, mustBeThere } from '../changes/refusals.ts'
import { findAuditEvents, webhookEventOf } from './webhook-event.ts'
import { keysOf, newWebhookSecret, type SigningKeys, shownKeys } from './webhook-signature.ts'

export type WebhookEndpoints = ReturnType<typeof makeWebhookEndpoints>
export type WebhookEndpoint = Awaited<ReturnType<typeof listEndpoints>>[number]

const ENDPOINTS_PER_SITE_MAX = 20
const REPLAY_EVENTS_MAX = 10_000
/** How long messages are also signed with the previous secret after a rotation. */
const ROTATION_MS = 86_400_000
const DELIVERIES_SHOWN_MAX = 50
const KEYS_KEPT_MAX = 1000
/** How long a change may take to commit after its event time. `enable` moves its search for events back by this time. */
const COMMIT_WITHIN_MS = 60_000

const EVENT_TYPE = 'must be an event type, such as enrolment.created'

const isUnreachable = (host: string) => leadsToThisMachine(host) || isPrivateHost(host)

const endpointInput = z.strictObject({
  url: z
    .url({ protocol: /^https$/, error: 'must be an https URL' })
    .max(500)
    .refine((url) => URL.parse(url)?.username === '' && URL.parse(url)?.password === '', {
      error: 'must not contain a user name or password',
    })
    .refine((url) => !isUnreachable(URL.parse(url)?.hostname ?? ''), {
      error: 'must name a public server, not this machine or an address on a private network',
    }),
  types: z
    .array(z.string().refine((type) => eventTypes.has(type), { error: EVENT_TYPE }))
    .min(1, { error: 'must name at least one event type' })
    .max(eventTypes.size),
  payload: z
    .enum(['full', 'thin'])
    .nullish()
    .transform((payload) => payload ?? 'full'),
})

export type EndpointInput = Readonly<z.input<typeof endpointInput>>

export type KeysOf = ReturnType<typeof makeKeysOf>

/** Creates the function that returns the keys that sign an endpoint's messages. Caches recently used keys. */
export function makeKeysOf(seals: Seals) {
  const kept = new LRUCache<string, SigningKeys, string>({
    max: KEYS_KEPT_MAX,
    memoMethod: (sealed, _, { context: id }) => keysOf(seals.open(sealed, endpointLabel(id))),
  })
  return (
    { id, sealed_secret, sealed_previous, previous_until }: Selectable<Schema['webhook_endpoint']>,
    nowMs: number,
  ): SigningKeys[] => {
    const isRotating = sealed_previous !== null && (previous_until ?? 0) > nowMs
    return [sealed_secret, ...(isRotating ? [sealed_previous] : [])].map((each) =>
      kept.memo(each, { context: id }),
    )
  }
}

export function makeWebhookEndpoints(database: Database, seals: Seals) {
  const { kysely } = database
  const change = changing(database, seals)
  const create = creation(seals)
  const list = async (siteId: string) => await listEndpoints(kysely, siteId, seals)
  return {
    list,

    find: async (siteId: string, id: string) =>
      (await list(siteId)).find((endpoint) => endpoint.id === id),

    /** Lists the latest delivery attempts to an endpoint, newest first. Callers must check the endpoint's site. */
    async deliveries({ id, payload }: Pick<Schema['webhook_endpoint'], 'id' | 'payload'>) {
      const rows = await kysely
        .selectFrom('webhook_delivery')
        .select(['id', 'event_id as eventId', 'type', 'attempted_at as attemptedAt'])
        .select(['duration_ms as durationMs', 'status', 'error', 'response'])
        .where('endpoint_id', '=', id)
        .orderBy('attempted_at', 'desc')
        .limit(DELIVERIES_SHOWN_MAX)
        .execute()
      const ids = rows.map(({ eventId }) => eventId)
      const events = await findAuditEvents(kysely, ids)
      return rows.map((row) => {
        const event = events.get(row.eventId)
        return { ...row, request: event && JSON.stringify(webhookEventOf(event, payload)) }
      })
    },

    /** Creates an endpoint, once per idempotency key. Throws ChangeRefused for invalid values or too many endpoints. */
    create: async (actor: SiteActor, input: Parameters<typeof create>[2]) =>
      await create(database, actor, input),

    /** Changes the given values. Throws ChangeRefused for an invalid value or an unknown endpoint. */
    update: change(async ({ trx, record }, stored, input: Partial<EndpointInput>) => {
      const { id, url, types, payload } = stored
      const before = { url, types, payload }
      const given = Object.entries(input).filter(([, value]) => value != null)
      const after = readInput(endpointInput, { ...before, ...Object.fromEntries(given) })
      const { types: newTypes, ...columns } = after
      await trx.updateTable('webhook_endpoint').set(columns).where('id', '=', id).execute()
      await trx.deleteFrom('webhook_endpoint_type').where('endpoint_id', '=', id).execute()
      await insertTypes(trx, id, newTypes)
      record('webhook.update', endpointSubject(id), { before, after })
    }),

    /** Replaces the secret. For a day, messages are also signed with the previous secret. */
    rotate: change(async ({ trx, actor, record }, { id }) => {
      await trx
        .updateTable('webhook_endpoint')
        .set(({ ref }) => ({
          sealed_previous: ref('sealed_secret'),
          previous_until: actor.now + ROTATION_MS,
          sealed_secret: seals.seal(newWebhookSecret(), endpointLabel(id)),
        }))
        .where('id', '=', id)
        .execute()
      record('webhook.rotate', endpointSubject(id), {})
    }),
    ...deliveryChanges(change),
  }
}

/** Creates the function that adds an endpoint. That function throws ChangeRefused if the site has too many. */
function creation(seals: Seals) {
  return siteCreation({
    prefix: 'whe',
    schema: endpointInput.extend({ idempotencyKey }),
    find: async (trx, siteId, id) =>
      await endpointsOf(trx, siteId).where('id', '=', id).executeTakeFirst(),
    async insert({ trx, actor, record }, id, { url, types, payload }) {
      const { siteId: site_id, now: created_at } = actor
      if ((await endpointsOf(trx, site_id).execute()).length >= ENDPOINTS_PER_SITE_MAX) {
        throw limitReached(`a site can have up to ${ENDPOINTS_PER_SITE_MAX} webhooks; delete one`)
      }
      const sealed_secret = seals.seal(newWebhookSecret(), endpointLabel(id))
      const row = { id, site_id, url, payload, sealed_secret, created_at }
      await trx.insertInto('webhook_endpoint').values(row).execute()
      await insertTypes(trx, id, types)
      record('webhook.create', endpointSubject(id), { after: { url, types, payload } })
    },
  })
}

/** Lists the endpoints of a site with their event types and keys, oldest first. */
async function listEndpoints(kysely: Kysely<Schema>, siteId: string, seals: Seals) {
  const rows = await endpointsOf(kysely, siteId).execute()
  const types = await kysely
    .selectFrom('webhook_endpoint_type')
    .selectAll()
    .where('endpoint_id', 'in', ['', ...rows.map(({ id }) => id)])
    .orderBy('type')
    .execute()
  return rows.map(({ sealed_secret, ...row }) => ({
    ...row,
    ...shownKeys(seals.open(sealed_secret, endpointLabel(row.id))),
    types: types.flatMap(({ endpoint_id, type }) => (endpoint_id === row.id ? type : [])),
  }))
}

type ChangeEndpoint = ReturnType<typeof changing>

/** Returns a function that creates changes to an endpoint. They throw ChangeRefused for an endpoint of another site. */
function changing(database: Database, seals: Seals) {
  return <Values extends unknown[], Result>(
    work: (site: SiteWork, endpoint: WebhookEndpoint, ...values: Values) => Promise<Result>,
  ) =>
    async (actor: SiteActor, id: string, ...values: Values) =>
      await changeSite(database, actor, async (site) => {
        const all = await listEndpoints(site.trx, actor.siteId, seals)
        const endpoint = all.find((one) => one.id === id)
        return await work(site, mustBeThere(endpoint, 'webhook endpoint'), ...values)
      })
}

function deliveryChanges(change: ChangeEndpoint) {
  return {
    /** Deletes an endpoint with its queue and log. */
    remove: change(async ({ trx, record }, { id, url }) => {
      await trx.deleteFrom('webhook_endpoint').where('id', '=', id).execute()
      await trx.deleteFrom('outbox').where('queue', '=', id).execute()
      record('webhook.delete', endpointSubject(id), { before: { url } })
    }),

    /** Disables an endpoint. No-op if it is already disabled. */
    disable: change(async ({ trx, actor, record }, { id, url }) => {
      const done = await markDisabled(trx, { id, reason: null, nowMs: actor.now })
      if (done) record('webhook.disable', endpointSubject(id), { after: { url } })
    }),

    /** Enables an endpoint, and queues or skips the events that it missed. No-op if it is already enabled. */
    enable: change(async ({ trx, actor, record }, before, missed: 'resume' | 'skip') => {
      const { id, disabledAt, undeliveredSince } = before
      if (disabledAt === null) return
      await trx
        .updateTable('webhook_endpoint')
        .set({ disabled_at: null, disabled_reason: null, undelivered_since: null })
        .where('id', '=', id)
        .execute()
      const sinceMs = (undeliveredSince ?? disabledAt) - COMMIT_WITHIN_MS
      const undelivered = sql`e.id = ${id} and a.occurred_at >= ${sinceMs} and not exists (select 1
        from webhook_delivery d where d.endpoint_id = e.id and d.event_id = a.id and d.error is null)`
      if (missed === 'resume') {
        await eventQueueing(undelivered, actor.now, REPLAY_EVENTS_MAX).execute(trx)
      }
      record('webhook.enable', endpointSubject(id), { after: { missed } })
    }),

    /** Queues one event again, or up to `REPLAY_EVENTS_MAX` events since a time. Returns how many it queued. */
    replay: change(
      async (
        { trx, actor, record },
        { id, disabledAt },
        which: { readonly eventId: string } | { readonly sinceMs: number },
      ) => {
        mustBeEnabled(disabledAt)
        const wanted =
          'eventId' in which ? sql`a.id = ${which.eventId}` : sql`a.occurred_at >= ${which.sinceMs}`
        const ofEndpoint = sql`e.id = ${id} and ${wanted}`
        const queueing = eventQueueing(ofEndpoint, actor.now, REPLAY_EVENTS_MAX)
        const events = Number((await queueing.execute(trx)).numAffectedRows)
        record('webhook.replay', endpointSubject(id), { after: { ...which, events } })
        return events
      },
    ),

    /** Queues an example event for this endpoint. Throws ChangeRefused for an unknown type or a disabled endpoint. */
    test: change(async ({ trx, actor, record }, { id, disabledAt }, type: string) => {
      if (!eventTypes.has(type)) throw badInput('type', EVENT_TYPE)
      mustBeEnabled(disabledAt)
      const payload = { eventId: record('webhook.test', endpointSubject(id), { after: { type } }) }
      await storeMessage(trx, { kind: 'webhook', queue: id, payload, nowMs: actor.now })
    }),
  }
}

const endpointSubject = (id: string) => ({ kind: 'webhook_endpoint', id })

function endpointsOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('webhook_endpoint')
    .select(['id', 'url', 'payload', 'sealed_secret', 'previous_until as previousUntil'])
    .select(['created_at as createdAt', 'disabled_at as disabledAt'])
    .select(['disabled_reason as disabledReason', 'undelivered_since as undeliveredSince'])
    .where('site_id', '=', siteId)
    .orderBy('created_at')
}

async function insertTypes(trx: SiteWork['trx'], endpoint_id: string, types: readonly string[]) {
  const rows = [...new Set(types)].map((type) => ({ endpoint_id, type }))
  await trx.insertInto('webhook_endpoint_type').values(rows).execute()
}

function mustBeEnabled(disabledAt: number | null): void {
  if (disabledAt !== null) throw conflict('the endpoint is disabled; enable it first')
}

/** Disables an enabled endpoint, records when its oldest queued message (if any) was stored, and removes its queue. */
export async function markDisabled(
  trx: Kysely<Schema>,
  { id, reason, nowMs }: Readonly<{ id: string; reason: string | null; nowMs: number }>,
) {
  const first = sql<number>`(select min(created_at) from outbox where queue = ${id})`
  const undelivered_since = sql<number>`coalesce(${first}, ${nowMs})`
  const endpoint = await trx
    .updateTable('webhook_endpoint')
    .set({ disabled_at: nowMs, disabled_reason: reason, undelivered_since })
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .returning(['site_id', 'url'])
    .executeTakeFirst()
  if (endpoint) await trx.deleteFrom('outbox').where('queue', '=', id).execute()
  return endpoint
}
