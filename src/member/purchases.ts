import { type Kysely, sql } from 'kysely'

import type { Database } from '../store/database.ts'
import type { ListOrder } from '../store/keyset.ts'
import type { Schema } from '../store/schema.ts'
import { pagedList, type RowOf } from './paged-list.ts'

/**
 * What a member bought at one site (specification, Viewer 1). No statement here selects a
 * column of an order: number, coupon, refund and invoice cannot come out because they never come in.
 */

/** What a person bought or registered for, and the lecture of a course that they watched last. */
export function purchaseData({ kysely }: Database) {
  return {
    enrolledCourses: enrolledCourses(kysely),
    digitalProducts: digitalProducts(kysely),
    consultingServices: consultingServices(kysely),
    eventRegistrations: eventRegistrations(kysely),
    /** The lecture that a person watched last in each of several courses, in one statement. */
    findLastWatched: async (personId: string, courseIds: readonly string[]) =>
      await findLastWatched(kysely, personId, courseIds),
  }
}

export type PurchaseData = ReturnType<typeof purchaseData>
export type EnrolledCourse = RowOf<PurchaseData['enrolledCourses']>
export type BoughtDigitalProduct = RowOf<PurchaseData['digitalProducts']>
export type WatchedLecture = Awaited<ReturnType<PurchaseData['findLastWatched']>>[number]

const latestPurchaseFirst: ListOrder<{ readonly purchasedAt: number; readonly id: string }> = {
  by: 'bought.purchased_at',
  id: 'bought.id',
  direction: 'desc',
  placeOf: ({ purchasedAt, id }) => [purchasedAt, id],
}

function enrolledCourses(kysely: Kysely<Schema>) {
  return pagedList(
    ({ personId, siteId }) =>
      kysely
        .selectFrom('course_purchase as bought')
        .innerJoin('course', 'course.id', 'bought.course_id')
        .where('bought.person_id', '=', personId)
        .where('course.site_id', '=', siteId)
        .select([
          'bought.id',
          'course.id as courseId',
          'course.slug',
          'course.title',
          'course.summary',
          'bought.purchased_at as purchasedAt',
          // Null is access without end.
          'bought.expires_at as expiresAt',
        ]),
    latestPurchaseFirst,
  )
}

function digitalProducts(kysely: Kysely<Schema>) {
  return pagedList(
    ({ personId, siteId }) =>
      kysely
        .selectFrom('digital_product_purchase as bought')
        .innerJoin('digital_product', 'digital_product.id', 'bought.digital_product_id')
        .where('bought.person_id', '=', personId)
        .where('digital_product.site_id', '=', siteId)
        .select([
          'bought.id',
          'digital_product.slug',
          'digital_product.title',
          'digital_product.summary',
          'digital_product.file_name as fileName',
          'digital_product.file_id as fileId',
          'bought.purchased_at as purchasedAt',
        ]),
    latestPurchaseFirst,
  )
}

function consultingServices(kysely: Kysely<Schema>) {
  return pagedList(
    ({ personId, siteId }) =>
      kysely
        .selectFrom('consulting_service_purchase as bought')
        .innerJoin('consulting_service', 'consulting_service.id', 'bought.consulting_service_id')
        .where('bought.person_id', '=', personId)
        .where('consulting_service.site_id', '=', siteId)
        .select([
          'bought.id',
          'consulting_service.slug',
          'consulting_service.title',
          'consulting_service.summary',
          'consulting_service.duration_minutes as durationMinutes',
          'bought.purchased_at as purchasedAt',
          'bought.scheduled_at as scheduledAt',
        ]),
    latestPurchaseFirst,
  )
}

function eventRegistrations(kysely: Kysely<Schema>) {
  return pagedList(
    ({ personId, siteId }) =>
      kysely
        .selectFrom('event_registration as bought')
        .innerJoin('event', 'event.id', 'bought.event_id')
        .where('bought.person_id', '=', personId)
        .where('event.site_id', '=', siteId)
        .select([
          'bought.id',
          'event.slug',
          'event.title',
          'event.summary',
          'event.location',
          'event.starts_at as startsAt',
          'event.ends_at as endsAt',
          'bought.registered_at as registeredAt',
          'bought.cancelled_at as cancelledAt',
        ]),
    {
      by: 'bought.registered_at',
      id: 'bought.id',
      direction: 'desc',
      placeOf: ({ registeredAt, id }) => [registeredAt, id],
    },
  )
}

async function findLastWatched(
  kysely: Kysely<Schema>,
  personId: string,
  courseIds: readonly string[],
) {
  const latest = sql<number>`row_number() over (
      partition by lecture.course_id order by watch_position.watched_at desc, lecture.id
    )`
  return await kysely
    .selectFrom(
      kysely
        .selectFrom('watch_position')
        .innerJoin('lecture', 'lecture.id', 'watch_position.lecture_id')
        .where('watch_position.person_id', '=', personId)
        .where('lecture.course_id', 'in', courseIds)
        .select([
          'lecture.course_id as courseId',
          'lecture.id as lectureId',
          'lecture.title',
          'watch_position.position_seconds as positionSeconds',
          'lecture.duration_seconds as durationSeconds',
          'watch_position.watched_at as watchedAt',
          latest.as('place'),
        ])
        .as('watched'),
    )
    .select(['courseId', 'lectureId', 'title', 'positionSeconds', 'durationSeconds', 'watchedAt'])
    .where('place', '=', 1)
    .execute()
}
