import type { Transaction } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, createAtSite, differenceOf, type SiteActor } from '../changes/change.ts'
import { given, idempotencyKey, line, readInput, TITLE_LENGTH_MAX } from '../changes/fields.ts'
import { limitReached, notFound } from '../changes/refused.ts'
import { mustFindCourse } from './course-store.ts'
import {
  arrangeCourse,
  findLecture,
  findSection,
  LECTURE_SECONDS_MAX,
  LECTURES_PER_COURSE_MAX,
  listLectures,
  others,
} from './curriculum.ts'
import { placeAmong } from './order.ts'

const title = line(TITLE_LENGTH_MAX)
const position = z.int().min(1, 'must be 1 or more').optional()
const sectionId = z.string().nullish()
const durationSeconds = z.int().min(0).max(LECTURE_SECONDS_MAX)
const creation = z.strictObject({ title, durationSeconds, sectionId, position, idempotencyKey })
const changes = z.strictObject({ title, durationSeconds }).partial()
const movement = z.strictObject({ sectionId, position })

export type LectureCreation = z.input<typeof creation> & { readonly courseId: string }
export type LectureChanges = z.input<typeof changes> & { readonly id: string }
export type LectureMovement = z.input<typeof movement> & { readonly id: string }

/** Makes a lecture, at its place in the section or at its end. @returns its id */
export async function createLecture(
  database: Database,
  actor: SiteActor,
  { courseId, ...input }: LectureCreation,
): Promise<string> {
  const { idempotencyKey: key, ...wanted } = readInput(creation, input)
  const wish = { prefix: 'lec', idempotencyKey: key, wish: { courseId, ...wanted } }
  return await createAtSite(database, actor, {
    ...wish,
    isThere: async (trx, id) => (await findLecture(trx, actor.siteId, id)) !== undefined,
    make: async (id, trx, record) => {
      await mustFindCourse(trx, actor.siteId, courseId)
      const section = await sectionWithin(trx, actor, { courseId, sectionId: wanted.sectionId })
      const present = await listLectures(trx, [courseId])
      if (present.length >= LECTURES_PER_COURSE_MAX) {
        throw limitReached(`a course has at most ${LECTURES_PER_COURSE_MAX} lectures`)
      }
      const made = { id, sectionId: section, position: present.length + 1 }
      await trx
        .insertInto('lecture')
        .values({
          id,
          course_id: courseId,
          section_id: section,
          position: made.position,
          title: wanted.title,
          duration_seconds: wanted.durationSeconds,
        })
        .execute()
      const beside = present.filter((lecture) => lecture.sectionId === section)
      const rest = present.filter((lecture) => lecture.sectionId !== section)
      const ordered = [...rest, ...placeAmong(beside, made, wanted.position)]
      await arrangeCourse(trx, courseId, { lectures: ordered })
      await record({
        action: 'lecture.create',
        subject: { kind: 'lecture', id },
        after: { course: courseId, title: wanted.title, durationSeconds: wanted.durationSeconds },
      })
    },
  })
}

/** Changes what is given of a lecture. What is so already is no change. */
export async function updateLecture(
  database: Database,
  actor: SiteActor,
  { id, ...input }: LectureChanges,
): Promise<void> {
  const wanted = given(readInput(changes, input))
  await changeSite(database, actor, async (trx, record) => {
    const lecture = await mustFindLecture(trx, actor, id)
    const change = differenceOf(lecture, wanted)
    if (!change) return
    const { title: newTitle, durationSeconds: duration_seconds } = wanted
    await trx
      .updateTable('lecture')
      .set(given({ title: newTitle, duration_seconds }))
      .where('id', '=', id)
      .execute()
    await record({ action: 'lecture.update', subject: { kind: 'lecture', id }, ...change })
  })
}

/** Moves a lecture to a section of its course, or to a place in its own. */
export async function moveLecture(
  database: Database,
  actor: SiteActor,
  { id, ...input }: LectureMovement,
): Promise<void> {
  const wanted = readInput(movement, input)
  await changeSite(database, actor, async (trx, record) => {
    const lecture = await mustFindLecture(trx, actor, id)
    const { courseId } = lecture
    const section =
      wanted.sectionId === undefined
        ? lecture.sectionId
        : await sectionWithin(trx, actor, { courseId, sectionId: wanted.sectionId })
    const rest = others(await listLectures(trx, [courseId]), id)
    const beside = rest.filter((other) => other.sectionId === section)
    const elsewhere = rest.filter((other) => other.sectionId !== section)
    await trx.updateTable('lecture').set({ section_id: section }).where('id', '=', id).execute()
    const moved = { ...lecture, sectionId: section }
    const ordered = [...elsewhere, ...placeAmong(beside, moved, wanted.position)]
    await arrangeCourse(trx, courseId, { lectures: ordered })
    const after = await mustFindLecture(trx, actor, id)
    const change = differenceOf(lecture, after)
    if (change)
      await record({ action: 'lecture.move', subject: { kind: 'lecture', id }, ...change })
  })
}

/** Removes a lecture with the places where people stopped in it. */
export async function deleteLecture(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const lecture = await mustFindLecture(trx, actor, id)
    await trx.deleteFrom('lecture').where('id', '=', id).execute()
    await arrangeCourse(trx, lecture.courseId, {})
    const { courseId: course, title: gone } = lecture
    await record({
      action: 'lecture.delete',
      subject: { kind: 'lecture', id },
      before: { course, title: gone },
    })
  })
}

async function mustFindLecture(trx: Transaction<Schema>, { siteId }: SiteActor, id: string) {
  const lecture = await findLecture(trx, siteId, id)
  if (!lecture) throw notFound('lecture')
  return lecture
}

interface WantedSection {
  readonly courseId: string
  readonly sectionId: string | null | undefined
}

/** @throws ChangeRefused when the section is of another course */
async function sectionWithin(
  trx: Transaction<Schema>,
  { siteId }: SiteActor,
  { courseId, sectionId }: WantedSection,
): Promise<string | null> {
  if (sectionId == null) return null
  const section = await findSection(trx, siteId, sectionId)
  if (section?.courseId !== courseId) throw notFound('section in this course')
  return sectionId
}
