/** The events of a site and who registered for them, as its operators keep them. What is sold is elsewhere. */

import { type Kysely, sql } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { countRows, type ListOrder, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, newId, type SiteActor } from '../changes/change.ts'
import {
  idempotencyKey,
  line,
  pageAddress,
  SUMMARY_LENGTH_MAX,
  slug,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/input.ts'
import { badInput, conflict, mustBeThere, notFound } from '../changes/refusals.ts'
import { itemOrders, releasedItems } from '../changes/released-items.ts'

const LOCATION_LENGTH_MAX = 300

const form = z.strictObject({
  slug,
  title: line(TITLE_LENGTH_MAX),
  summary: text(SUMMARY_LENGTH_MAX),
  location: line(LOCATION_LENGTH_MAX).nullable(),
  joinUrl: pageAddress.nullable(),
  startsAt: z.int(),
  endsAt: z.int(),
})

export const events = releasedItems({
  table: 'event',
  prefix: 'evt',
  rowsOf: (kysely: Kysely<Schema>, siteId: string) =>
    kysely
      .selectFrom('event')
      .select([
        'event.id',
        'event.slug',
        'event.title',
        'event.summary',
        'event.location',
        'event.join_url as joinUrl',
        'event.starts_at as startsAt',
        'event.ends_at as endsAt',
        'event.published_at as publishedAt',
        'event.archived_at as archivedAt',
        'event.created_at as createdAt',
      ])
      .where('event.site_id', '=', siteId),
  orders: {
    ...itemOrders,
    START: {
      by: 'starts_at',
      id: 'id',
      direction: 'asc',
      placeOf: ({ startsAt, id }) => [startsAt, id],
    },
  },
  sortedBy: 'START',
  creation: form.extend({
    location: form.shape.location.default(null),
    joinUrl: form.shape.joinUrl.default(null),
    idempotencyKey,
  }),
  changes: form.partial(),
  check: ({ startsAt, endsAt }) => {
    if (endsAt <= startsAt) throw badInput('endsAt', 'must be after startsAt')
  },
})

/** That a person comes to an event. There is one for a person and an event, cancelled or not. */
export type Registration = NonNullable<Awaited<ReturnType<typeof findRegistration>>>

const newestFirst: ListOrder<Pick<Registration, 'id' | 'registeredAt'>> = {
  by: 'r.registered_at',
  id: 'r.id',
  direction: 'desc',
  placeOf: ({ registeredAt, id }) => [registeredAt, id],
}

/** The registrations of one event of the site, the newest first, cancelled ones too. */
export function listRegistrations({ kysely }: Database, eventId: string) {
  const found = registrations(kysely).where('r.event_id', '=', eventId)
  // No foreign key goes astray, so that they are counted without the people.
  const counted = kysely.selectFrom('event_registration').where('event_id', '=', eventId)
  return pagedRows(found, newestFirst, async () => await countRows(counted))
}

/** How many registrations of each event stand; of one that is not there none does. One query. */
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

/** One registration for an event of the site, or nothing. */
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
      'person.name',
      'person.email',
      'r.registered_at as registeredAt',
      'r.cancelled_at as cancelledAt',
    ])
}

export interface Attendance {
  readonly eventId: string
  readonly personId: string
}

/**
 * Registers a person of the site for one of its events, once; one who cancelled is registered anew.
 *
 * @returns the id of the registration, which stays the same for this person and event
 * @throws ChangeRefused when the site has no such event or person, and for an event that is archived
 */
export async function registerForEvent(
  database: Database,
  actor: SiteActor,
  { eventId, personId }: Attendance,
): Promise<string> {
  return await changeSite(database, actor, async (trx, record) => {
    const event = await events.mustFind(trx, actor.siteId, eventId)
    if (event.archivedAt !== null) throw conflict('the event is archived; restore it first')
    // Whether the person is known elsewhere is not said.
    const role = await trx
      .selectFrom('site_role')
      .select('role')
      .where('person_id', '=', personId)
      .where('site_id', '=', actor.siteId)
      .limit(1)
      .executeTakeFirst()
    if (!role) throw notFound('person')
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
    const { id } = registered
    const subject = { kind: 'event_registration', id }
    await record({ action: 'event.register', subject, after: { eventId, personId } })
    return id
  })
}

/** Cancels a registration for an event of the site; again it changes nothing. */
export async function cancelRegistration(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const registration = mustBeThere(await findRegistration(trx, actor.siteId, id), 'registration')
    const { numUpdatedRows } = await trx
      .updateTable('event_registration')
      .set({ cancelled_at: actor.now })
      .where('id', '=', id)
      .where('cancelled_at', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    const { eventId, personId } = registration
    const subject = { kind: 'event_registration', id }
    await record({ action: 'event.cancel_registration', subject, before: { eventId, personId } })
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
