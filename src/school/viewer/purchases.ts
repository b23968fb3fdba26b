import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { type ListOrder, orderBy } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type Membership, pagedList, type RowOf } from './paged-list.ts'

/**
 * Lists the purchases of a member at one site (specification, Viewer 1). No statement selects a column of an order, so
 * order numbers, coupons, refunds and invoices cannot leak.
 */

export function purchaseLists({ kysely }: Database, now: () => number) {
  return {
    enrolledCourses: enrolledCourses(kysely, now),
    digitalProducts: digitalProducts(kysely),
    consultingServices: consultingServices(kysely),
    eventRegistrations: eventRegistrations(kysely, now),
  }
}

export type PurchaseLists = ReturnType<typeof purchaseLists>
export type EnrolledCourse = RowOf<PurchaseLists['enrolledCourses']>
export type BoughtDigitalProduct = RowOf<PurchaseLists['digitalProducts']>
export type EventRegistration = RowOf<PurchaseLists['eventRegistrations']>

const latestPurchaseFirst = orderBy('purchasedAt', 'desc', 'bought.purchased_at', 'bought.id')
const byTitle = (column: string) => orderBy('title', 'asc', column, 'bought.id')

/** The sort key for lifetime access, which is later than any date. */
const NEVER_MS = Number.MAX_SAFE_INTEGER

const firstToEndFirst: ListOrder<{ readonly expiresAt: number | null; readonly id: string }> = {
  by: sql`coalesce(bought.expires_at, ${sql.lit(NEVER_MS)})`,
  id: 'bought.id',
  direction: 'asc',
  placeOf: ({ expiresAt, id }) => [expiresAt ?? NEVER_MS, id],
}

interface CourseFilter {
  /** Only purchases with current access, or only purchases whose access has ended; all by default. */
  readonly access?: 'ACTIVE' | 'ENDED' | null
}

function enrolledCourses(kysely: Kysely<Schema>, now: () => number) {
  return pagedList(
    ({ personId, siteId }: Membership, { access }: CourseFilter) =>
      kysely
        .selectFrom('course_purchase as bought')
        .innerJoin('course', 'course.id', 'bought.course_id')
        .where('bought.person_id', '=', personId)
        .where('course.site_id', '=', siteId)
        .$if(access === 'ACTIVE', (query) =>
          query.where(sql<boolean>`(bought.expires_at is null or bought.expires_at > ${now()})`),
        )
        .$if(access === 'ENDED', (query) => query.where('bought.expires_at', '<=', now()))
        // `expiresAt` is null for lifetime access.
        .select([
          'bought.id',
          'bought.purchased_at as purchasedAt',
          'bought.expires_at as expiresAt',
        ])
        .select(['course.id as courseId', 'course.slug', 'course.title', 'course.summary'])
        .select(['course.url', 'course.image_url as imageUrl']),
    {
      PURCHASED: latestPurchaseFirst,
      EXPIRE_DATE: firstToEndFirst,
      TITLE: byTitle('course.title'),
    },
    'PURCHASED',
  )
}

function digitalProducts(kysely: Kysely<Schema>) {
  return pagedList(
    ({ personId, siteId }: Membership) =>
      kysely
        .selectFrom('digital_product_purchase as bought')
        .innerJoin('digital_product', 'digital_product.id', 'bought.digital_product_id')
        .leftJoin('stored_file as file', 'file.id', 'digital_product.file_id')
        .where('bought.person_id', '=', personId)
        .where('digital_product.site_id', '=', siteId)
        .select(['bought.id', 'bought.purchased_at as purchasedAt'])
        .select(['digital_product.slug', 'digital_product.title', 'digital_product.summary'])
        .select(['digital_product.file_name as fileName', 'digital_product.file_id as fileId'])
        .select(['file.media_type as mediaType', 'file.size_bytes as sizeBytes']),
    { PURCHASED: latestPurchaseFirst, TITLE: byTitle('digital_product.title') },
    'PURCHASED',
  )
}

function consultingServices(kysely: Kysely<Schema>) {
  return pagedList(
    ({ personId, siteId }: Membership) =>
      kysely
        .selectFrom('consulting_service_purchase as bought')
        .innerJoin('consulting_service', 'consulting_service.id', 'bought.consulting_service_id')
        .where('bought.person_id', '=', personId)
        .where('consulting_service.site_id', '=', siteId)
        .select(['bought.id', 'bought.purchased_at as purchasedAt'])
        .select('bought.scheduled_at as scheduledAt')
        .select(['consulting_service.slug', 'consulting_service.title'])
        .select(['consulting_service.summary', 'duration_minutes as durationMinutes']),
    { PURCHASED: latestPurchaseFirst, TITLE: byTitle('consulting_service.title') },
    'PURCHASED',
  )
}

interface EventFilter {
  readonly when?: 'UPCOMING' | 'PAST' | null
  readonly cancelled?: boolean | null
}

function eventRegistrations(kysely: Kysely<Schema>, now: () => number) {
  return pagedList(
    ({ personId, siteId }: Membership, { when, cancelled }: EventFilter) =>
      kysely
        .selectFrom('event_registration as bought')
        .innerJoin('event', 'event.id', 'bought.event_id')
        .where('bought.person_id', '=', personId)
        .where('event.site_id', '=', siteId)
        .$if(when === 'UPCOMING', (query) => query.where('event.ends_at', '>', now()))
        .$if(when === 'PAST', (query) => query.where('event.ends_at', '<=', now()))
        .$if(cancelled === true, (query) => query.where('bought.cancelled_at', 'is not', null))
        .$if(cancelled === false, (query) => query.where('bought.cancelled_at', 'is', null))
        .select(['bought.id', 'bought.registered_at as registeredAt'])
        .select(['bought.cancelled_at as cancelledAt', 'event.join_url as joinUrl'])
        .select(['event.slug', 'event.title', 'event.summary', 'event.location'])
        .select(['event.starts_at as startsAt', 'event.ends_at as endsAt']),
    {
      REGISTERED: orderBy('registeredAt', 'desc', 'bought.registered_at', 'bought.id'),
      START: orderBy('startsAt', 'asc', 'event.starts_at', 'bought.id'),
    },
    'REGISTERED',
  )
}
