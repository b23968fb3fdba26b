import type { Transaction } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, createAtSite, differenceOf, type SiteActor } from '../changes/change.ts'
import { given, idempotencyKey, line, readInput, TITLE_LENGTH_MAX } from '../changes/input.ts'
import { limitReached, mustBeThere, notFound } from '../changes/refusals.ts'
import { courses } from './course-store.ts'
import {
  arrangeCourse,
  findLecture,
  findSection,
  type Lecture,
  listLectures,
  listSections,
  placeAmong,
} from './curriculum.ts'

const SECTIONS_PER_COURSE_MAX = 200
const LECTURES_PER_COURSE_MAX = 1000
/** A day. */
const LECTURE_SECONDS_MAX = 86_400

const title = line(TITLE_LENGTH_MAX)
const position = z.int().min(1, 'must be 1 or more').optional()
const sectionId = z.string().nullish()
const durationSeconds = z.int().min(0).max(LECTURE_SECONDS_MAX)

const sectionCreation = z.strictObject({ title, position, idempotencyKey })
const sectionChanges = z.strictObject({ title: title.optional(), position })
const lectureCreation = sectionCreation.extend({ durationSeconds, sectionId })
const lectureChanges = z.strictObject({ title, durationSeconds }).partial()
const lectureMovement = z.strictObject({ sectionId, position })

interface OfCourse {
  readonly courseId: string
}

interface WithId {
  readonly id: string
}

/** Makes a section, at its place among the sections or at their end. @returns its id */
export async function createSection(
  database: Database,
  actor: SiteActor,
  { courseId, ...input }: z.input<typeof sectionCreation> & OfCourse,
): Promise<string> {
  const { idempotencyKey: key, ...wanted } = readInput(sectionCreation, input)
  return await createAtSite(database, actor, {
    ...{ prefix: 'sec', idempotencyKey: key, wish: { courseId, ...wanted } },
    isThere: async (trx, id) => (await findSection(trx, actor.siteId, id)) !== undefined,
    make: async (id, trx, record) => {
      await courses.mustFind(trx, actor.siteId, courseId)
      const sections = await listSections(trx, [courseId])
      if (sections.length >= SECTIONS_PER_COURSE_MAX) {
        throw limitReached(`a course has at most ${SECTIONS_PER_COURSE_MAX} sections`)
      }
      const made = { id, position: sections.length + 1, title: wanted.title }
      await trx
        .insertInto('section')
        .values({ ...made, course_id: courseId, created_at: actor.now })
        .execute()
      const ordered = placeAmong(sections, made, wanted.position)
      await arrangeCourse(trx, courseId, { sections: ordered })
      await record({
        action: 'section.create',
        subject: { kind: 'section', id },
        after: { course: courseId, title: made.title },
      })
    },
  })
}

/** Gives a section another title, another place, or both. */
export async function updateSection(
  database: Database,
  actor: SiteActor,
  { id, ...input }: z.input<typeof sectionChanges> & WithId,
): Promise<void> {
  const wanted = readInput(sectionChanges, input)
  await changeSite(database, actor, async (trx, record) => {
    const section = await mustFindSection(trx, actor, id)
    const sections = await listSections(trx, [section.courseId])
    // A number beyond the end is the last.
    const place = wanted.position && Math.min(wanted.position, sections.length)
    const change = differenceOf(section, given({ title: wanted.title, position: place }))
    if (!change) return
    if (wanted.title !== undefined) {
      await trx.updateTable('section').set({ title: wanted.title }).where('id', '=', id).execute()
    }
    if (change.after.position !== undefined) {
      const others = sections.filter((other) => other.id !== id)
      const ordered = placeAmong(others, section, place)
      await arrangeCourse(trx, section.courseId, { sections: ordered })
    }
    await record({ action: 'section.update', subject: { kind: 'section', id }, ...change })
  })
}

/** Removes a section; its lectures stay, before the first section. */
export async function deleteSection(
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const section = await mustFindSection(trx, actor, id)
    await trx.deleteFrom('section').where('id', '=', id).execute()
    await arrangeCourse(trx, section.courseId, {})
    await record({
      action: 'section.delete',
      subject: { kind: 'section', id },
      before: { course: section.courseId, title: section.title },
    })
  })
}

async function mustFindSection(trx: Transaction<Schema>, { siteId }: SiteActor, id: string) {
  return mustBeThere(await findSection(trx, siteId, id), 'section')
}

/** Makes a lecture, at its place in the section or at its end. @returns its id */
export async function createLecture(
  database: Database,
  actor: SiteActor,
  { courseId, ...input }: z.input<typeof lectureCreation> & OfCourse,
): Promise<string> {
  const { idempotencyKey: key, ...wanted } = readInput(lectureCreation, input)
  return await createAtSite(database, actor, {
    ...{ prefix: 'lec', idempotencyKey: key, wish: { courseId, ...wanted } },
    isThere: async (trx, id) => (await findLecture(trx, actor.siteId, id)) !== undefined,
    make: async (id, trx, record) => {
      await courses.mustFind(trx, actor.siteId, courseId)
      const section = await sectionWithin(trx, actor, courseId, wanted.sectionId)
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
      await place(trx, courseId, present, { ...made, wanted: wanted.position })
      await record({
        action: 'lecture.create',
        subject: { kind: 'lecture', id },
        after: { course: courseId, title: wanted.title, durationSeconds: wanted.durationSeconds },
      })
    },
  })
}

/** Changes the given fields of a lecture, if they differ. */
export async function updateLecture(
  database: Database,
  actor: SiteActor,
  { id, ...input }: z.input<typeof lectureChanges> & WithId,
): Promise<void> {
  const wanted = given(readInput(lectureChanges, input))
  await changeSite(database, actor, async (trx, record) => {
    const lecture = await mustFindLecture(trx, actor, id)
    const change = differenceOf(lecture, wanted)
    if (!change) return
    await trx
      .updateTable('lecture')
      .set(given({ title: wanted.title, duration_seconds: wanted.durationSeconds }))
      .where('id', '=', id)
      .execute()
    await record({ action: 'lecture.update', subject: { kind: 'lecture', id }, ...change })
  })
}

/** Moves a lecture to a section of its course, or to a place in its own. */
export async function moveLecture(
  database: Database,
  actor: SiteActor,
  { id, ...input }: z.input<typeof lectureMovement> & WithId,
): Promise<void> {
  const wanted = readInput(lectureMovement, input)
  await changeSite(database, actor, async (trx, record) => {
    const lecture = await mustFindLecture(trx, actor, id)
    const { courseId } = lecture
    const section =
      wanted.sectionId === undefined
        ? lecture.sectionId
        : await sectionWithin(trx, actor, courseId, wanted.sectionId)
    const others = (await listLectures(trx, [courseId])).filter((other) => other.id !== id)
    await trx.updateTable('lecture').set({ section_id: section }).where('id', '=', id).execute()
    const moved = { id, sectionId: section, position: lecture.position, wanted: wanted.position }
    await place(trx, courseId, others, moved)
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
    await record({
      action: 'lecture.delete',
      subject: { kind: 'lecture', id },
      before: { course: lecture.courseId, title: lecture.title },
    })
  })
}

async function mustFindLecture(trx: Transaction<Schema>, { siteId }: SiteActor, id: string) {
  return mustBeThere(await findLecture(trx, siteId, id), 'lecture')
}

type Placed = Pick<Lecture, 'id' | 'sectionId' | 'position'>

/** Puts a lecture among the others of its course, at the wanted place of its section or at its end. */
async function place(
  trx: Transaction<Schema>,
  courseId: string,
  others: readonly Placed[],
  lecture: Placed & { readonly wanted: number | undefined },
): Promise<void> {
  const beside = others.filter(({ sectionId: section }) => section === lecture.sectionId)
  const elsewhere = others.filter(({ sectionId: section }) => section !== lecture.sectionId)
  const ordered = [...elsewhere, ...placeAmong<Placed>(beside, lecture, lecture.wanted)]
  await arrangeCourse(trx, courseId, { lectures: ordered })
}

/** @throws ChangeRefused when the section is of another course */
async function sectionWithin(
  trx: Transaction<Schema>,
  { siteId }: SiteActor,
  courseId: string,
  id: string | null | undefined,
): Promise<string | null> {
  if (id == null) return null
  const section = await findSection(trx, siteId, id)
  if (section?.courseId !== courseId) throw notFound('section in this course')
  return id
}
