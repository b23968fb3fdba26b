/** Who is enrolled in which course, for how long, and how far they came. What an order says of it is in orders. */

import { type Kysely, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/** A student of more courses than this shows the latest ones; the count says how many exist. */
const ENROLMENTS_SHOWN_MAX = 100

export type Enrolment = NonNullable<Awaited<ReturnType<typeof findEnrolment>>>

/** The enrolments of people at a site, each person's latest first. One query. */
export async function listEnrolments(
  kysely: Kysely<Schema>,
  siteId: string,
  personIds: readonly string[],
): Promise<Map<string, Enrolment[]>> {
  const place = sql<number>`row_number() over (
    partition by bought.person_id order by bought.purchased_at desc, bought.id desc)`
  const rows = await kysely
    .selectFrom(
      enrolments(kysely, siteId)
        .where('bought.person_id', 'in', personIds)
        .select(place.as('place'))
        .as('numbered'),
    )
    .selectAll()
    .where('place', '<=', ENROLMENTS_SHOWN_MAX)
    .orderBy('place')
    .execute()
  return Map.groupBy(rows, ({ personId }) => personId)
}

/** How many courses of a site people are or were enrolled in. One query. */
export async function countEnrolments(
  kysely: Kysely<Schema>,
  siteId: string,
  personIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await kysely
    .selectFrom('course_purchase as bought')
    .crossJoin('course')
    .whereRef('course.id', '=', 'bought.course_id')
    .select((eb) => ['bought.person_id as personId', eb.fn.countAll<number>().as('total')])
    .where('course.site_id', '=', siteId)
    .where('bought.person_id', 'in', personIds)
    .groupBy('bought.person_id')
    .execute()
  return new Map(rows.map(({ personId, total }) => [personId, Number(total)]))
}

/** One enrolment of somebody who belongs to the site, or nothing. One query. */
export async function findEnrolment(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await enrolments(kysely, siteId).where('bought.id', '=', id).executeTakeFirst()
}

/** Written with `cross join`, as above, so that SQLite begins with what a person has and not with all courses. */
function enrolments(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('course_purchase as bought')
    .crossJoin('course')
    .whereRef('course.id', '=', 'bought.course_id')
    .select([
      'bought.id',
      'bought.person_id as personId',
      'bought.course_id as courseId',
      'course.slug as courseSlug',
      'course.title as courseTitle',
      'bought.purchased_at as purchasedAt',
      // Null is access without end.
      'bought.expires_at as expiresAt',
    ])
    .where('course.site_id', '=', siteId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('site_role')
          .select('role')
          .whereRef('site_role.person_id', '=', 'bought.person_id')
          .where('site_role.site_id', '=', siteId),
      ),
    )
}
