/** The events of a site and who registered for them, as its operators keep them. What is sold is elsewhere. */

import type { Kysely } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import {
  countRows,
  type ListOrder,
  type PageRequest,
  readPage,
} from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import {
  idempotencyKey,
  line,
  pageAddress,
  SUMMARY_LENGTH_MAX,
  slug,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/fields.ts'
import { type ItemFilter, itemMatches, itemOrders } from '../changes/item-lists.ts'
import { badInput } from '../changes/refused.ts'
import { type ItemKey, releasedItems } from '../changes/released-items.ts'

export interface EventQuestion extends ItemFilter {
  readonly siteId: string
  readonly sort?: EventSort | null | undefined
}

export type EventSort = keyof typeof orders

export type SiteEvent = NonNullable<Awaited<ReturnType<typeof findEvent>>>

const orders = {
  ...itemOrders('event'),
  START: {
    by: 'event.starts_at',
    id: 'event.id',
    direction: 'asc',
    placeOf: ({ startsAt, id }) => [startsAt, id],
  } satisfies ListOrder<Pick<SiteEvent, 'startsAt' | 'id'>>,
} as const

/** One page of the events of a site, and how many there are, each in one query. */
export function listEvents({ kysely }: Database, question: EventQuestion) {
  const found = eventsOf(kysely, question.siteId).where(itemMatches('event', question))
  return {
    page: async (request: PageRequest) =>
      await readPage(found, orders[question.sort ?? 'START'], request),
    count: async () => await countRows(found),
  }
}

/** One event of a site by its id or its slug, or nothing. One query. */
export async function findEvent(kysely: Kysely<Schema>, siteId: string, by: ItemKey) {
  const query = eventsOf(kysely, siteId)
  return await ('id' in by
    ? query.where('event.id', '=', by.id)
    : query.where('event.slug', '=', by.slug)
  ).executeTakeFirst()
}

function eventsOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
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
    .where('event.site_id', '=', siteId)
}

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
const creation = form.extend({
  location: form.shape.location.default(null),
  joinUrl: form.shape.joinUrl.default(null),
  idempotencyKey,
})
const changes = form.partial()

type EventFields = z.output<typeof form>
export type EventCreation = z.input<typeof creation>
export type EventChanges = z.input<typeof changes>

const events = releasedItems<EventFields, SiteEvent, EventCreation, EventChanges>({
  table: 'event',
  noun: 'event',
  prefix: 'evt',
  find: findEvent,
  creation,
  changes,
  actions: {
    create: { action: 'event.create' },
    update: { action: 'event.update' },
    publish: { action: 'event.publish' },
    unpublish: { action: 'event.unpublish' },
    archive: { action: 'event.archive' },
    restore: { action: 'event.restore' },
  },
  check: ({ startsAt, endsAt }) => {
    if (endsAt <= startsAt) throw badInput('endsAt', 'must be after startsAt')
  },
})

/** @throws ChangeRefused when the site has no such event */
export const mustFindEvent: typeof events.mustFind = events.mustFind
export const createEvent: typeof events.create = events.create
export const updateEvent: typeof events.update = events.update
export const releaseEvent: typeof events.release = events.release
