import type { Transaction } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, newId, type SiteActor } from '../changes/change.ts'
import { readInput } from '../changes/fields.ts'
import { badInput, notFound } from '../changes/refused.ts'
import { type Enrolment, findEnrolment } from './enrolments.ts'
import { grantRoles, rolesOf } from './site-roles.ts'

const lasting = z.strictObject({
  expireDate: z.int().nullish(),
  hasLifetimeAccess: z.boolean().nullish(),
})

/** How long somebody is enrolled: one of the two, so that nobody gets lifetime access by a slip. */
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
    await mustBeOfSite(trx, actor.siteId, courseId)
    const id = await writeEnrolment(trx, { personId, courseId, expiresAt, nowMs: actor.now })
    const subject = { kind: 'person', id: personId }
    if (!roles.includes('student')) {
      const { siteId, now: nowMs } = actor
      await grantRoles(trx, { personId, siteId, roles: ['student'], nowMs })
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
    const enrolment = await mustFindEnrolment(trx, actor.siteId, id)
    if (enrolment.expiresAt === expiresAt) return
    await setEnd(trx, id, expiresAt)
    await record({
      action: 'enrolment.update',
      subject: { kind: 'enrolment', id },
      before: { expiresAt: enrolment.expiresAt },
      after: { expiresAt },
    })
  })
}

/** Ends an enrolment now. One that has ended is no change. */
export async function endEnrolment(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const { expiresAt } = await mustFindEnrolment(trx, actor.siteId, id)
    if (expiresAt !== null && expiresAt <= actor.now) return
    await setEnd(trx, id, actor.now)
    await record({
      action: 'enrolment.end',
      subject: { kind: 'enrolment', id },
      before: { expiresAt },
      after: { expiresAt: actor.now },
    })
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

async function mustFindEnrolment(
  trx: Transaction<Schema>,
  siteId: string,
  id: string,
): Promise<Enrolment> {
  const enrolment = await findEnrolment(trx, siteId, id)
  if (!enrolment) throw notFound('enrolment')
  return enrolment
}

async function mustBeOfSite(trx: Transaction<Schema>, siteId: string, id: string): Promise<void> {
  const course = await trx
    .selectFrom('course')
    .select('id')
    .where('id', '=', id)
    .where('site_id', '=', siteId)
    .executeTakeFirst()
  if (!course) throw notFound('course')
}

interface NewEnrolment {
  readonly personId: string
  readonly courseId: string
  readonly expiresAt: number | null
  readonly nowMs: number
}

/** @returns its id; nothing when the person has one for this course */
async function writeEnrolment(
  trx: Transaction<Schema>,
  { personId, courseId, expiresAt, nowMs }: NewEnrolment,
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

async function setEnd(trx: Transaction<Schema>, id: string, expiresAt: number | null) {
  await trx
    .updateTable('course_purchase')
    .set({ expires_at: expiresAt })
    .where('id', '=', id)
    .execute()
}
