/** Reads and changes the events of a site and their registrations. Sales are in `order-list.ts`. */

import { type Kysely, sql } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { countRows, orderBy, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, findRoles, newId, type SiteActor } from '../changes/change.ts'
import { idempotencyKey, itemFields, line, pageAddress } from '../changes/input.ts'
import { badInput, conflict, mustBeThere, notFound } from '../changes/refusals.ts'
import { itemColumns, itemOrders, releasedItems } from '../changes/released-items.ts'

const location = line(300).nullable()
const joinUrl = pageAddress.nullable()
const fields = itemFields.extend({ location, joinUrl, startsAt: z.int(), endsAt: z.int() })

export const events = releasedItems({
  table: 'event',
  prefix: 'evt',
  rowsOf: (kysely: Kysely<Schema>, siteId: string) =>
    kysely
      .selectFrom('event')
      .select(itemColumns('event'))
      .select(['event.location', 'event.join_url as joinUrl'])
      .select(['event.starts_at as startsAt', 'event.ends_at as endsAt'])
      .where('event.site_id', '=', siteId),
  orders: {
    ...itemOrders,
    START: orderBy('startsAt', 'asc', 'starts_at'),
  },
  sortedBy: 'START',
  creation: fields.extend({
    location: location.default(null),
    joinUrl: joinUrl.default(null),
    idempotencyKey,
  }),
  changes: fields.partial(),
  check: ({ startsAt, endsAt }) => {
    if (endsAt <= startsAt) throw badInput('endsAt', 'must be after startsAt')
  },
})

const newestFirst = orderBy('registeredAt', 'desc', 'r.registered_at', 'r.id')

/** Lists the registrations of an event, newest first. Each person has at most one, even after a cancellation. */
export function listRegistrations({ kysely }: Database, eventId: string) {
  const found = registrations(kysely).where('r.event_id', '=', eventId)
  // Foreign keys guarantee that the people exist, so count without joining them.
  const counted = kysely.selectFrom('event_registration').where('event_id', '=', eventId)
  return pagedRows(found, newestFirst, async () => await countRows(counted))
}

/** Counts the uncancelled registrations of each event, with one query. Omits events without any. */
export async function countNotCancelled(
  kysely: Kysely<Schema>,
  eventIds: readonly string[],
): Promise<Map<string, number>> {
  const counted = await kysely
    .selectFrom('event_registration')
    .select(['event_id', sql<number>`count(*)`.as('total')])
    .where('event_id', 'in', eventIds)
    .where('cancelled_at', 'is', null)
    .groupBy('event_id')
    .execute()
  return new Map(counted.map(({ event_id, total }) => [event_id, Number(total)]))
}

export async function findRegistration(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await registrations(kysely)
    .innerJoin('event', 'event.id', 'r.event_id')
    .where('r.id', '=', id)
    .where('event.site_id', '=', siteId)
    .executeTakeFirst()
}

function registrations(kysely: Kysely<Schema>) {
  return kysely
    .selectFrom('event_registration as r')
    .innerJoin('person', 'person.id', 'r.person_id')
    .select([
      'r.id',
      'r.event_id as eventId',
      'r.person_id as personId',
      'r.registered_at as registeredAt',
      'r.cancelled_at as cancelledAt',
      'person.name',
      'person.email',
      'person.picture',
    ])
}

export interface Attendance {
  readonly eventId: string
  readonly personId: string
}

/**
 * Registers a person of the site for an event, or renews a cancelled registration. No-op if already registered.
 *
 * @returns the id of the registration, which is always the same for this person and event
 * @throws ChangeRefused for an unknown event or person, and for an archived event
 */
export async function registerForEvent(
  database: Database,
  actor: SiteActor,
  { eventId, personId }: Attendance,
): Promise<string> {
  return await changeSite(database, actor, async (trx, record) => {
    const event = await events.mustFind(trx, actor.siteId, eventId)
    if (event.archivedAt !== null) throw conflict('the event is archived; restore it first')
    const roles = await findRoles(trx, actor.siteId, personId)
    if (roles.length === 0) throw notFound('person')
    const registered = await trx
      .insertInto('event_registration')
      .values({
        id: newId('reg'),
        person_id: personId,
        event_id: eventId,
        order_id: null,
        registered_at: actor.now,
        cancelled_at: null,
      })
      .onConflict((known) =>
        known
          .columns(['person_id', 'event_id'])
          .doUpdateSet({ registered_at: actor.now, cancelled_at: null })
          .where('event_registration.cancelled_at', 'is not', null),
      )
      .returning('id')
      .executeTakeFirst()
    if (!registered) return await idOf(trx, { eventId, personId })
    const subject = { kind: 'event_registration', id: registered.id }
    await record('event.register', subject, { after: { eventId, personId } })
    return registered.id
  })
}

/** Cancels a registration. No-op if it is already cancelled. @throws ChangeRefused for an unknown registration */
export async function cancelRegistration(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const found = await findRegistration(trx, actor.siteId, id)
    const { eventId, personId } = mustBeThere(found, 'registration')
    const { numUpdatedRows } = await trx
      .updateTable('event_registration')
      .set({ cancelled_at: actor.now })
      .where('id', '=', id)
      .where('cancelled_at', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    const subject = { kind: 'event_registration', id }
    await record('event.cancel_registration', subject, { before: { eventId, personId } })
  })
}

async function idOf(kysely: Kysely<Schema>, { eventId, personId }: Attendance): Promise<string> {
  const { id } = await kysely
    .selectFrom('event_registration')
    .select('id')
    .where('person_id', '=', personId)
    .where('event_id', '=', eventId)
    .executeTakeFirstOrThrow()
  return id
}
