/** Reads and changes a site's events and their registrations. Sales are in `order-list.ts`. */

import { type Kysely, sql } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { countRows, orderBy, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { findRoles, newId, siteChange } from '../changes/change.ts'
import { itemFields, line, pageAddress } from '../changes/input.ts'
import { badInput, conflict, mustBeThere, notFound } from '../changes/refusals.ts'
import { countReferring, releasedItems } from '../changes/released-items.ts'

export const events = releasedItems({
  table: 'event',
  prefix: 'evt',
  fields: itemFields.extend({
    location: line(300).nullable(),
    joinUrl: pageAddress.nullable(),
    startsAt: z.int(),
    endsAt: z.int(),
  }),
  orders: { START: orderBy('startsAt', 'asc', 'starts_at') },
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

/** Counts the active registrations of each event, with one query. Omits events without active registrations. */
export const countNotCancelled = countReferring(
  'event',
  'event_registration',
  sql`cancelled_at is null`,
)

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
    .select(['r.id', 'r.event_id as eventId', 'r.person_id as personId'])
    .select(['r.registered_at as registeredAt', 'r.cancelled_at as cancelledAt', 'person.name'])
    .select(['person.email', 'person.picture'])
}

export interface Attendance {
  readonly eventId: string
  readonly personId: string
}

/**
 * Registers a member of the site for an event, or renews a cancelled registration. No-op if the member is registered.
 * Returns the id of the registration, which stays the same if it is renewed. Throws ChangeRefused for an
 * unknown event or member, and for an archived event.
 */
export const registerForEvent = siteChange(
  async ({ trx, actor, record }, { eventId, personId }: Attendance) => {
    const event = await events.mustFind(trx, actor.siteId, eventId)
    if (event.archivedAt !== null) throw conflict('the event is archived; restore it first')
    const roles = await findRoles(trx, actor.siteId, personId)
    if (roles.length === 0) throw notFound('person')
    const known = await trx
      .selectFrom('event_registration')
      .select(['id', 'cancelled_at'])
      .where('person_id', '=', personId)
      .where('event_id', '=', eventId)
      .executeTakeFirst()
    if (known?.cancelled_at === null) return known.id
    const times = { registered_at: actor.now, cancelled_at: null }
    const { id } = await trx
      .insertInto('event_registration')
      .values({
        id: newId('reg'),
        person_id: personId,
        event_id: eventId,
        order_id: null,
        ...times,
      })
      .onConflict((same) => same.columns(['person_id', 'event_id']).doUpdateSet(times))
      .returning('id')
      .executeTakeFirstOrThrow()
    const subject = { kind: 'event_registration', id }
    record('event.register', subject, { after: { eventId, personId } })
    return id
  },
)

/** Cancels a registration. No-op if it is already cancelled. Throws ChangeRefused for an unknown registration. */
export const cancelRegistration = siteChange(async ({ trx, actor, record }, id: string) => {
  const found = await findRegistration(trx, actor.siteId, id)
  const { eventId, personId, cancelledAt } = mustBeThere(found, 'registration')
  if (cancelledAt !== null) return
  await trx
    .updateTable('event_registration')
    .set({ cancelled_at: actor.now })
    .where('id', '=', id)
    .execute()
  const subject = { kind: 'event_registration', id }
  record('event.cancel_registration', subject, { before: { eventId, personId } })
})
