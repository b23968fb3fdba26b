import { sql } from 'kysely'

import type { Database } from '../store/database.ts'
import {
  comesAfter,
  type Membership,
  type PagedList,
  pageOf,
  rowCount,
  totalOf,
} from './connection.ts'

/**
 * What a member bought at one site (specification, Viewer 1). No statement here selects a
 * column of an order: number, coupon, refund and invoice cannot come out because they never come in.
 */

export interface EnrolledCourse {
  readonly id: string
  readonly courseId: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  readonly purchasedAt: number
  /** Null is access without end. */
  readonly expiresAt: number | null
}

export interface WatchedLecture {
  readonly courseId: string
  readonly lectureId: string
  readonly title: string
  readonly positionSeconds: number
  readonly durationSeconds: number
  readonly watchedAt: number
}

export interface DigitalProduct {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  readonly fileName: string
  readonly purchasedAt: number
}

export interface ConsultingService {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  readonly durationMinutes: number
  readonly purchasedAt: number
  readonly scheduledAt: number | null
}

export interface EventRegistration {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly summary: string
  readonly location: string | null
  readonly startsAt: number
  readonly endsAt: number
  readonly registeredAt: number
  readonly cancelledAt: number | null
}

/** The lecture that a person watched last in each of several courses, in one statement. */
export type FindLastWatched = (
  personId: string,
  courseIds: readonly string[],
) => Promise<WatchedLecture[]>

export function enrolledCourses({ kysely }: Database): PagedList<EnrolledCourse> {
  const at = 'course_purchase.purchased_at'
  const id = 'course_purchase.id'
  const owned = ({ personId, siteId }: Membership) =>
    kysely
      .selectFrom('course_purchase')
      .innerJoin('course', 'course.id', 'course_purchase.course_id')
      .where('course_purchase.person_id', '=', personId)
      .where('course.site_id', '=', siteId)
  return {
    async page(membership, request) {
      const rows = await owned(membership)
        .where(comesAfter(at, id, request.after))
        .select([
          'course_purchase.id',
          'course.id as courseId',
          'course.slug',
          'course.title',
          'course.summary',
          'course_purchase.purchased_at as purchasedAt',
          'course_purchase.expires_at as expiresAt',
        ])
        .orderBy(at, 'desc')
        .orderBy(id, 'desc')
        .limit(request.first + 1)
        .execute()
      return pageOf(rows, request, (item) => item.purchasedAt)
    },
    count: async (membership) => totalOf(await owned(membership).select(rowCount).execute()),
  }
}

export function findLastWatched({ kysely }: Database): FindLastWatched {
  return async (personId, courseIds) => {
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
}

export function digitalProducts({ kysely }: Database): PagedList<DigitalProduct> {
  const at = 'digital_product_purchase.purchased_at'
  const id = 'digital_product_purchase.id'
  const owned = ({ personId, siteId }: Membership) =>
    kysely
      .selectFrom('digital_product_purchase')
      .innerJoin(
        'digital_product',
        'digital_product.id',
        'digital_product_purchase.digital_product_id',
      )
      .where('digital_product_purchase.person_id', '=', personId)
      .where('digital_product.site_id', '=', siteId)
  return {
    async page(membership, request) {
      const rows = await owned(membership)
        .where(comesAfter(at, id, request.after))
        .select([
          'digital_product_purchase.id',
          'digital_product.slug',
          'digital_product.title',
          'digital_product.summary',
          'digital_product.file_name as fileName',
          'digital_product_purchase.purchased_at as purchasedAt',
        ])
        .orderBy(at, 'desc')
        .orderBy(id, 'desc')
        .limit(request.first + 1)
        .execute()
      return pageOf(rows, request, (item) => item.purchasedAt)
    },
    count: async (membership) => totalOf(await owned(membership).select(rowCount).execute()),
  }
}

export function consultingServices({ kysely }: Database): PagedList<ConsultingService> {
  const at = 'consulting_service_purchase.purchased_at'
  const id = 'consulting_service_purchase.id'
  const owned = ({ personId, siteId }: Membership) =>
    kysely
      .selectFrom('consulting_service_purchase')
      .innerJoin(
        'consulting_service',
        'consulting_service.id',
        'consulting_service_purchase.consulting_service_id',
      )
      .where('consulting_service_purchase.person_id', '=', personId)
      .where('consulting_service.site_id', '=', siteId)
  return {
    async page(membership, request) {
      const rows = await owned(membership)
        .where(comesAfter(at, id, request.after))
        .select([
          'consulting_service_purchase.id',
          'consulting_service.slug',
          'consulting_service.title',
          'consulting_service.summary',
          'consulting_service.duration_minutes as durationMinutes',
          'consulting_service_purchase.purchased_at as purchasedAt',
          'consulting_service_purchase.scheduled_at as scheduledAt',
        ])
        .orderBy(at, 'desc')
        .orderBy(id, 'desc')
        .limit(request.first + 1)
        .execute()
      return pageOf(rows, request, (item) => item.purchasedAt)
    },
    count: async (membership) => totalOf(await owned(membership).select(rowCount).execute()),
  }
}

export function eventRegistrations({ kysely }: Database): PagedList<EventRegistration> {
  const at = 'event_registration.registered_at'
  const id = 'event_registration.id'
  const owned = ({ personId, siteId }: Membership) =>
    kysely
      .selectFrom('event_registration')
      .innerJoin('event', 'event.id', 'event_registration.event_id')
      .where('event_registration.person_id', '=', personId)
      .where('event.site_id', '=', siteId)
  return {
    async page(membership, request) {
      const rows = await owned(membership)
        .where(comesAfter(at, id, request.after))
        .select([
          'event_registration.id',
          'event.slug',
          'event.title',
          'event.summary',
          'event.location',
          'event.starts_at as startsAt',
          'event.ends_at as endsAt',
          'event_registration.registered_at as registeredAt',
          'event_registration.cancelled_at as cancelledAt',
        ])
        .orderBy(at, 'desc')
        .orderBy(id, 'desc')
        .limit(request.first + 1)
        .execute()
      return pageOf(rows, request, (item) => item.registeredAt)
    },
    count: async (membership) => totalOf(await owned(membership).select(rowCount).execute()),
  }
}
