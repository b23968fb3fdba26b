/** Reads and changes enrolments, and reads the progress of students. See `commerce/order-list.ts` for orders. */

import { type Kysely, sql, type Transaction } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, newId, type SiteActor } from '../changes/change.ts'
import { readInput } from '../changes/input.ts'
import { badInput, mustBeThere } from '../changes/refusals.ts'
import { courses } from '../courses/course-store.ts'
import { grantRoles, mustHaveRoles } from './site-roles.ts'

const ENROLMENTS_SHOWN_MAX = 100

export type Enrolment = NonNullable<Awaited<ReturnType<typeof findEnrolment>>>

/** Lists the newest enrolments of each person at a site, at most 100 per person, with one query. */
export async function listEnrolments(
  kysely: Kysely<Schema>,
  personIds: readonly string[],
  siteId: string,
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

/** Counts the current and past enrolments of people at a site, with one query. */
export async function countEnrolments(
  kysely: Kysely<Schema>,
  personIds: readonly string[],
  siteId: string,
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

/** Finds an enrolment at a site. The person must still have a role there. */
export async function findEnrolment(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await enrolments(kysely, siteId).where('bought.id', '=', id).executeTakeFirst()
}

/** Selects the enrolments of a site's members. `cross join` makes SQLite start with the enrolments of a person. */
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
      // When access ends; null for lifetime access.
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

const lasting = z.strictObject({
  expireDate: z.int().nullish(),
  hasLifetimeAccess: z.boolean().nullish(),
})

/** How long an enrolment lasts. Requires `expireDate` or `hasLifetimeAccess: true`, so lifetime access is explicit. */
type Lasting = z.input<typeof lasting>

export interface EnrolmentWish extends Lasting {
  readonly personId: string
  readonly courseId: string
}

/**
 * Enrols a member in a course without an order, and grants the student role. A person has at most one enrolment per
 * course: an existing one stays unchanged, even if it has ended.
 *
 * @returns the id of the enrolment, and whether it is new
 * @throws ChangeRefused for an unknown member or course, and for an invalid end
 */
export async function enrolStudent(
  database: Database,
  actor: SiteActor,
  { personId, courseId, ...input }: EnrolmentWish,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const expiresAt = endOf(input, actor.now)
  return await changeSite(database, actor, async (trx, record) => {
    const roles = await mustHaveRoles(trx, actor.siteId, personId)
    await courses.mustFind(trx, actor.siteId, courseId)
    const made = await trx
      .insertInto('course_purchase')
      .values({
        id: newId('pur'),
        person_id: personId,
        course_id: courseId,
        order_id: null,
        purchased_at: actor.now,
        expires_at: expiresAt,
      })
      .onConflict((known) => known.columns(['person_id', 'course_id']).doNothing())
      .returning('id')
      .executeTakeFirst()
    const subject = { kind: 'person', id: personId }
    if (!roles.includes('student')) {
      await grantRoles(trx, actor, personId, ['student'])
      const after = { roles: [...roles, 'student'].sort() }
      await record('member.roles', subject, { before: { roles }, after })
    }
    if (!made) return { id: await enrolmentOf(trx, personId, courseId), isNew: false }
    const after = { personId, courseId, expiresAt }
    await record('enrolment.create', { kind: 'enrolment', id: made.id }, { after })
    return { id: made.id, isNew: true }
  })
}

/** Changes when access ends, or restores access. @throws ChangeRefused for an unknown enrolment or invalid end */
export async function updateEnrolment(
  database: Database,
  actor: SiteActor,
  { id, ...input }: Lasting & { readonly id: string },
): Promise<void> {
  const expiresAt = endOf(input, actor.now)
  await changeSite(database, actor, async (trx, record) => {
    const before = await mustFindEnrolment(trx, actor, id)
    if (before.expiresAt === expiresAt) return
    await setEnd(trx, id, expiresAt)
    const change = { before: { expiresAt: before.expiresAt }, after: { expiresAt } }
    await record('enrolment.update', { kind: 'enrolment', id }, change)
  })
}

/** Ends the access of an enrolment now. No-op if it has ended. @throws ChangeRefused for an unknown enrolment */
export async function endEnrolment(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const { expiresAt } = await mustFindEnrolment(trx, actor, id)
    const { now } = actor
    if (expiresAt !== null && expiresAt <= now) return
    await setEnd(trx, id, now)
    const change = { before: { expiresAt }, after: { expiresAt: now } }
    await record('enrolment.end', { kind: 'enrolment', id }, change)
  })
}

async function mustFindEnrolment(trx: Transaction<Schema>, { siteId }: SiteActor, id: string) {
  return mustBeThere(await findEnrolment(trx, siteId, id), 'enrolment')
}

/** Returns when access ends; null for lifetime access. @throws ChangeRefused for neither, both, or a past end */
function endOf(input: Lasting, nowMs: number): number | null {
  const { expireDate, hasLifetimeAccess } = readInput(lasting, input)
  if (expireDate == null) {
    if (hasLifetimeAccess === true) return null
    throw badInput('expireDate', 'is missing; send it or set hasLifetimeAccess to true')
  }
  if (hasLifetimeAccess === true) {
    throw badInput('hasLifetimeAccess', 'cannot be true together with expireDate')
  }
  if (expireDate <= nowMs) throw badInput('expireDate', 'must be in the future')
  return expireDate
}

async function enrolmentOf(trx: Transaction<Schema>, personId: string, courseId: string) {
  const { id } = await trx
    .selectFrom('course_purchase')
    .select('id')
    .where('person_id', '=', personId)
    .where('course_id', '=', courseId)
    .executeTakeFirstOrThrow()
  return id
}

async function setEnd(trx: Transaction<Schema>, id: string, expires_at: number | null) {
  await trx.updateTable('course_purchase').set({ expires_at }).where('id', '=', id).execute()
}

export interface Progress {
  readonly lectureCount: number
  readonly completedLectureCount: number
  readonly lastWatched:
    | { readonly lectureId: string; readonly title: string; readonly watchedAt: number }
    | undefined
}

/** Maximum number of enrolments in one statement, which reads all lectures of their courses. */
const BATCH_ENROLMENTS_MAX = 200

/** Reads the progress of enrolments with two queries per batch. */
export async function listProgress(
  kysely: Kysely<Schema>,
  enrolmentIds: readonly string[],
): Promise<Map<string, Progress>> {
  const found = new Map<string, Progress>()
  for (let first = 0; first < enrolmentIds.length; first += BATCH_ENROLMENTS_MAX) {
    const batch = enrolmentIds.slice(first, first + BATCH_ENROLMENTS_MAX)
    const [counts, watched] = await Promise.all([
      countLectures(kysely, batch),
      lastWatched(kysely, batch),
    ])
    for (const { id, lectureCount } of counts) {
      const row = watched.get(id)
      found.set(id, {
        lectureCount: Number(lectureCount),
        completedLectureCount: Number(row?.completed ?? 0),
        lastWatched: row,
      })
    }
  }
  return found
}

async function countLectures(kysely: Kysely<Schema>, ids: readonly string[]) {
  return await kysely
    .selectFrom('course_purchase as bought')
    .select([
      'bought.id',
      sql<number>`(select count(*) from lecture where course_id = bought.course_id)`.as(
        'lectureCount',
      ),
    ])
    .where('bought.id', 'in', ids)
    .execute()
}

async function lastWatched(kysely: Kysely<Schema>, ids: readonly string[]) {
  const rows = await kysely
    .selectFrom(
      kysely
        .selectFrom('course_purchase as bought')
        .innerJoin('lecture', 'lecture.course_id', 'bought.course_id')
        .innerJoin('watch_position as watched', (join) =>
          join
            .onRef('watched.person_id', '=', 'bought.person_id')
            .onRef('watched.lecture_id', '=', 'lecture.id'),
        )
        .where('bought.id', 'in', ids)
        .select([
          'bought.id',
          'lecture.id as lectureId',
          'lecture.title',
          'watched.watched_at as watchedAt',
          sql<number>`sum(case when watched.position_seconds >= lecture.duration_seconds
            then 1 else 0 end) over (partition by bought.id)`.as('completed'),
          sql<number>`row_number() over (
            partition by bought.id order by watched.watched_at desc, lecture.id)`.as('place'),
        ])
        .as('numbered'),
    )
    .select(['id', 'lectureId', 'title', 'watchedAt', 'completed'])
    .where('place', '=', 1)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
