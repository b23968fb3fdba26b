/** Reads and changes enrolments, and reads the progress of students. See `commerce/order-list.ts` for orders. */

import { type Kysely, sql, type Transaction } from 'kysely'
import { z } from 'zod'

import { hasRole } from '../../directory/sites/site-choice.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { checkedChange, newId, siteChange } from '../changes/change.ts'
import { badInput, mustBeThere } from '../changes/refusals.ts'
import { courses } from '../courses/course-store.ts'
import { grantRoles, mustHaveRoles } from './site-roles.ts'

const ENROLMENTS_SHOWN_MAX = 100

export type Enrolment = NonNullable<Awaited<ReturnType<typeof findEnrolment>>>

/** Lists the newest enrolments of people with a role at a site, at most 100 per person. Runs one query. */
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
  return (
    kysely
      .selectFrom('course_purchase as bought')
      .crossJoin('course')
      .whereRef('course.id', '=', 'bought.course_id')
      .select(['bought.id', 'bought.person_id as personId', 'bought.course_id as courseId'])
      .select(['course.slug as courseSlug', 'course.title as courseTitle'])
      // `expiresAt` is null for lifetime access.
      .select(['bought.purchased_at as purchasedAt', 'bought.expires_at as expiresAt'])
      .where('course.site_id', '=', siteId)
      .where(hasRole('bought.person_id', 'course.site_id'))
  )
}

/** The end of an enrolment. There is no default, so `accessEnd` requires `expireDate` or `hasLifetimeAccess: true`. */
const lasting = z.strictObject({
  expireDate: z.int().nullish(),
  hasLifetimeAccess: z.boolean().nullish(),
})

/**
 * Enrols a member in a course without an order, and grants the student role. A person has at most one enrolment per
 * course. An existing enrolment stays unchanged, even if it has ended. Returns the id of the enrolment, and whether it
 * is new. Throws ChangeRefused for an unknown member or course, or an invalid end.
 */
export const enrolStudent = checkedChange(
  lasting.extend({ personId: z.string(), courseId: z.string() }),
  async ({ trx, actor, record }, { personId, courseId, ...input }) => {
    const expiresAt = accessEnd(input, actor.now)
    const roles = await mustHaveRoles(trx, actor.siteId, personId)
    await courses.mustFind(trx, actor.siteId, courseId)
    const newest = newId('pur')
    const ofPerson = { person_id: personId, course_id: courseId, order_id: null }
    const { id } = await trx
      .insertInto('course_purchase')
      .values({ id: newest, ...ofPerson, purchased_at: actor.now, expires_at: expiresAt })
      // If the enrolment exists, an update that changes nothing returns its id.
      .onConflict((known) =>
        known
          .columns(['person_id', 'course_id'])
          .doUpdateSet((e) => ({ order_id: e.ref('course_purchase.order_id') })),
      )
      .returning('id')
      .executeTakeFirstOrThrow()
    if (!roles.includes('student')) {
      await grantRoles(trx, actor, personId, ['student'])
      const change = { before: { roles }, after: { roles: [...roles, 'student'].sort() } }
      record('member.roles', { kind: 'person', id: personId }, change)
    }
    const isNew = id === newest
    const after = { personId, courseId, expiresAt }
    if (isNew) record('enrolment.create', { kind: 'enrolment', id }, { after })
    return { id, isNew }
  },
)

/** Changes when access ends, or restores access. Throws ChangeRefused for an unknown enrolment or an invalid end. */
export const updateEnrolment = checkedChange(
  lasting.extend({ id: z.string() }),
  async ({ trx, actor, record }, { id, ...input }) => {
    const expiresAt = accessEnd(input, actor.now)
    const before = mustBeThere(await findEnrolment(trx, actor.siteId, id), 'enrolment')
    if (before.expiresAt === expiresAt) return
    await setEnd(trx, id, expiresAt)
    const change = { before: { expiresAt: before.expiresAt }, after: { expiresAt } }
    record('enrolment.update', { kind: 'enrolment', id }, change)
  },
)

/** Ends the access that an enrolment grants. No-op if it has ended. Throws ChangeRefused for an unknown enrolment. */
export const endEnrolment = siteChange(async ({ trx, actor, record }, id: string) => {
  const { expiresAt } = mustBeThere(await findEnrolment(trx, actor.siteId, id), 'enrolment')
  const { now } = actor
  if (expiresAt !== null && expiresAt <= now) return
  await setEnd(trx, id, now)
  const change = { before: { expiresAt }, after: { expiresAt: now } }
  record('enrolment.end', { kind: 'enrolment', id }, change)
})

/** Returns when access ends; null for never. @throws ChangeRefused if neither or both are set, or the end has passed */
function accessEnd({ expireDate, hasLifetimeAccess }: z.output<typeof lasting>, nowMs: number) {
  if (expireDate == null) {
    if (hasLifetimeAccess === true) return null
    throw badInput('expireDate', 'is missing; send it or set hasLifetimeAccess to true')
  }
  if (hasLifetimeAccess === true) {
    throw badInput('hasLifetimeAccess', 'must not be true if expireDate is set; send one of them')
  }
  if (expireDate <= nowMs) throw badInput('expireDate', 'must be in the future')
  return expireDate
}

async function setEnd(trx: Transaction<Schema>, id: string, expires_at: number | null) {
  await trx.updateTable('course_purchase').set({ expires_at }).where('id', '=', id).execute()
}

export type Progress = Awaited<ReturnType<typeof readCourseProgress>>[number]

/** The maximum number of enrolments in one statement. The statement reads all lectures of their courses. */
const BATCH_ENROLMENTS_MAX = 200

/** Reads the progress of enrolments, with one query per batch. */
export async function listProgress(kysely: Kysely<Schema>, enrolmentIds: readonly string[]) {
  const found = new Map<string, Progress>()
  for (let first = 0; first < enrolmentIds.length; first += BATCH_ENROLMENTS_MAX) {
    const batch = enrolmentIds.slice(first, first + BATCH_ENROLMENTS_MAX)
    for (const progress of await readCourseProgress(kysely, batch)) found.set(progress.id, progress)
  }
  return found
}

async function readCourseProgress(kysely: Kysely<Schema>, ids: readonly string[]) {
  const watched = kysely
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
      'lecture.duration_seconds as durationSeconds',
      'watched.position_seconds as positionSeconds',
      'watched.watched_at as watchedAt',
      sql<number>`sum(case when watched.position_seconds >= lecture.duration_seconds
        then 1 else 0 end) over (partition by bought.id)`.as('completed'),
      sql<number>`row_number() over (
        partition by bought.id order by watched.watched_at desc, lecture.id)`.as('place'),
    ])
  const rows = await kysely
    .selectFrom('course_purchase as bought')
    .leftJoin(watched.as('last'), (join) =>
      join.onRef('last.id', '=', 'bought.id').on('last.place', '=', 1),
    )
    .select(['bought.id', 'last.lectureId', 'last.title', 'last.durationSeconds'])
    .select(['last.positionSeconds', 'last.watchedAt', 'last.completed'])
    .select(({ selectFrom, fn }) =>
      selectFrom('lecture')
        .select(fn.countAll<number>().as('total'))
        .whereRef('lecture.course_id', '=', 'bought.course_id')
        .as('lectures'),
    )
    .where('bought.id', 'in', ids)
    .execute()
  return rows.map(({ lectures, completed, ...last }) => ({
    ...last,
    lectureCount: Number(lectures),
    completedLectureCount: Number(completed ?? 0),
  }))
}
