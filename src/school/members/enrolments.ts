/** Who is enrolled in which course, for how long, and how far they came. What an order says of it is in orders. */

import { type Kysely, sql, type Transaction } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, newId, type SiteActor } from '../changes/change.ts'
import { readInput } from '../changes/input.ts'
import { badInput, mustBeThere, notFound } from '../changes/refusals.ts'
import { courses } from '../courses/course-store.ts'
import { grantRoles, rolesOf } from './site-roles.ts'

/** A student of more courses than this shows the latest ones; the count says how many exist. */
const ENROLMENTS_SHOWN_MAX = 100

export type Enrolment = NonNullable<Awaited<ReturnType<typeof findEnrolment>>>

/** The enrolments of people at a site, each person's latest first. One query. */
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

/** How many courses of a site people are or were enrolled in. One query. */
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

/** One enrolment of a member of the site, or nothing. One query. */
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

const lasting = z.strictObject({
  expireDate: z.int().nullish(),
  hasLifetimeAccess: z.boolean().nullish(),
})

/** How long an enrolment lasts: exactly one of the two, so that no mistake grants lifetime access. */
export type Lasting = z.input<typeof lasting>

export interface EnrolmentWish extends Lasting {
  readonly personId: string
  readonly courseId: string
}

/**
 * Enrols a person of the site in a course, without an order; who holds another role there becomes a
 * student, too. Whoever is or was enrolled already stays as they are: there is one enrolment for a
 * person and a course.
 *
 * @returns its id, and whether this made it
 * @throws ChangeRefused for a person or a course of another site, and for an end that is not ahead
 */
export async function enrolStudent(
  database: Database,
  actor: SiteActor,
  { personId, courseId, ...input }: EnrolmentWish,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const expiresAt = endOf(input, actor.now)
  return await changeSite(database, actor, async (trx, record) => {
    const roles = await rolesOf(trx, actor.siteId, personId)
    if (roles.length === 0) throw notFound('member')
    await courses.mustFind(trx, actor.siteId, courseId)
    const id = await writeEnrolment(trx, { personId, courseId }, expiresAt, actor.now)
    const subject = { kind: 'person', id: personId }
    if (!roles.includes('student')) {
      await grantRoles(trx, actor, personId, ['student'])
      const after = { roles: [...roles, 'student'].sort() }
      await record({ action: 'member.roles', subject, before: { roles }, after })
    }
    if (id === undefined) return { id: await enrolmentOf(trx, personId, courseId), isNew: false }
    const after = { personId, courseId, expiresAt }
    await record({ action: 'enrolment.create', subject: { kind: 'enrolment', id }, after })
    return { id, isNew: true }
  })
}

/**
 * Lets an enrolment last until another day, or for life. One that had ended goes on.
 *
 * @throws ChangeRefused for an enrolment of another site, and for an end that is not ahead
 */
export async function updateEnrolment(
  database: Database,
  actor: SiteActor,
  { id, ...input }: Lasting & { readonly id: string },
): Promise<void> {
  const expiresAt = endOf(input, actor.now)
  await changeSite(database, actor, async (trx, record) => {
    const enrolment = mustBeThere(await findEnrolment(trx, actor.siteId, id), 'enrolment')
    if (enrolment.expiresAt === expiresAt) return
    await setEnd(trx, enrolment, expiresAt)
    const changed = { before: { expiresAt: enrolment.expiresAt }, after: { expiresAt } }
    await record({ action: 'enrolment.update', subject: { kind: 'enrolment', id }, ...changed })
  })
}

/** Ends an enrolment now. One that has ended is no change. */
export async function endEnrolment(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const enrolment = mustBeThere(await findEnrolment(trx, actor.siteId, id), 'enrolment')
    const { expiresAt } = enrolment
    const { now } = actor
    if (expiresAt !== null && expiresAt <= now) return
    await setEnd(trx, enrolment, now)
    const changed = { before: { expiresAt }, after: { expiresAt: now } }
    await record({ action: 'enrolment.end', subject: { kind: 'enrolment', id }, ...changed })
  })
}

/** @returns the time at which access ends, or null for access without end */
function endOf(input: Lasting, nowMs: number): number | null {
  const { expireDate, hasLifetimeAccess } = readInput(lasting, input)
  if (expireDate == null) {
    if (hasLifetimeAccess === true) return null
    throw badInput('expireDate', 'must be given, or hasLifetimeAccess must be true')
  }
  if (hasLifetimeAccess === true) {
    throw badInput('hasLifetimeAccess', 'cannot be true when there is an expireDate')
  }
  if (expireDate <= nowMs) throw badInput('expireDate', 'must lie ahead')
  return expireDate
}

/** @returns its id; nothing when the person has one for this course */
async function writeEnrolment(
  trx: Transaction<Schema>,
  { personId, courseId }: Pick<Enrolment, 'personId' | 'courseId'>,
  expiresAt: number | null,
  nowMs: number,
): Promise<string | undefined> {
  const made = await trx
    .insertInto('course_purchase')
    .values({
      id: newId('pur'),
      person_id: personId,
      course_id: courseId,
      order_id: null,
      purchased_at: nowMs,
      expires_at: expiresAt,
    })
    .onConflict((known) => known.columns(['person_id', 'course_id']).doNothing())
    .returning('id')
    .executeTakeFirst()
  return made?.id
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

async function setEnd(trx: Transaction<Schema>, { id }: Enrolment, expiresAt: number | null) {
  await trx
    .updateTable('course_purchase')
    .set({ expires_at: expiresAt })
    .where('id', '=', id)
    .execute()
}

/** The progress of a student in a course. */
export interface Progress {
  readonly lectureCount: number
  /** Of how many the end was reached. */
  readonly completedLectureCount: number
  readonly lastWatched:
    | { readonly lectureId: string; readonly title: string; readonly watchedAt: number }
    | undefined
}

/** As many enrolments as one statement looks at: a course may have very many lectures. */
const BATCH_ENROLMENTS_MAX = 200

/** The progress of several enrolments. Two queries for each two hundred. */
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
