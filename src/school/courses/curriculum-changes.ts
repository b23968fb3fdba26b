import type { Transaction } from 'kysely'
import { z } from 'zod'

import type { Schema } from '../../platform/store/schema.ts'
import { checkedChange, differenceOf, siteChange, siteCreation } from '../changes/change.ts'
import { given, idempotencyKey, title } from '../changes/input.ts'
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
const LECTURE_SECONDS_MAX = 86_400

const id = z.string()
const courseId = z.string()
const sectionId = z.string().nullish()
const position = z.int().min(1, 'must be 1 or more').optional()
const durationSeconds = z.int().min(0).max(LECTURE_SECONDS_MAX)

const newSection = z.strictObject({ courseId, title, position, idempotencyKey })

/** Creates a section at the given position, by default at the end. */
export const createSection = siteCreation({
  prefix: 'sec',
  schema: newSection,
  find: findSection,
  async insert({ trx, actor, record }, id, { courseId, title, position }) {
    await courses.mustFind(trx, actor.siteId, courseId)
    const sections = await listSections(trx, [courseId])
    if (sections.length >= SECTIONS_PER_COURSE_MAX) {
      throw limitReached(`a course can have up to ${SECTIONS_PER_COURSE_MAX} sections; delete one`)
    }
    const made = { id, position: sections.length + 1, title }
    await trx
      .insertInto('section')
      .values({ ...made, course_id: courseId, created_at: actor.now })
      .execute()
    await arrangeCourse(trx, courseId, { sections: placeAmong(sections, made, position) })
    record('section.create', { kind: 'section', id }, { after: { course: courseId, title } })
  },
})

/** Changes the given fields of a section: its title, its position, or both. */
export const updateSection = checkedChange(
  z.strictObject({ id, title: title.optional(), position }),
  async ({ trx, actor, record }, { id, title, position }) => {
    const section = mustBeThere(await findSection(trx, actor.siteId, id), 'section')
    const sections = await listSections(trx, [section.courseId])
    // Treat a position beyond the end as the end.
    const place = position && Math.min(position, sections.length)
    const change = differenceOf(section, given({ title, position: place }))
    if (!change) return
    if (title !== undefined) {
      await trx.updateTable('section').set({ title }).where('id', '=', id).execute()
    }
    if (change.after.position !== undefined) {
      const others = sections.filter((other) => other.id !== id)
      const ordered = placeAmong(others, section, place)
      await arrangeCourse(trx, section.courseId, { sections: ordered })
    }
    record('section.update', { kind: 'section', id }, change)
  },
)

/** Creates a lecture in a section, or before the first section. */
export const createLecture = siteCreation({
  prefix: 'lec',
  schema: newSection.extend({ durationSeconds, sectionId }),
  find: findLecture,
  async insert({ trx, actor, record }, id, { courseId, title, durationSeconds, ...wanted }) {
    await courses.mustFind(trx, actor.siteId, courseId)
    const section = await sectionWithin(trx, actor.siteId, courseId, wanted.sectionId)
    const present = await listLectures(trx, [courseId])
    if (present.length >= LECTURES_PER_COURSE_MAX) {
      throw limitReached(`a course can have up to ${LECTURES_PER_COURSE_MAX} lectures; delete one`)
    }
    const position = present.length + 1
    await trx
      .insertInto('lecture')
      .values({
        ...{ id, course_id: courseId, section_id: section, position, title },
        duration_seconds: durationSeconds,
      })
      .execute()
    const placed = { id, sectionId: section, position, wanted: wanted.position }
    await place(trx, courseId, present, placed)
    const after = { course: courseId, title, durationSeconds }
    record('lecture.create', { kind: 'lecture', id }, { after })
  },
})

/** Changes the given fields of a lecture: its title, its duration, or both. */
export const updateLecture = checkedChange(
  z.strictObject({ title, durationSeconds }).partial().extend({ id }),
  async ({ trx, actor, record }, { id, ...fields }) => {
    const wanted = given(fields)
    const lecture = mustBeThere(await findLecture(trx, actor.siteId, id), 'lecture')
    const change = differenceOf(lecture, wanted)
    if (!change) return
    await trx
      .updateTable('lecture')
      .set(given({ title: wanted.title, duration_seconds: wanted.durationSeconds }))
      .where('id', '=', id)
      .execute()
    record('lecture.update', { kind: 'lecture', id }, change)
  },
)

/** Moves a lecture within its course: to another section, before the first section, or to another position. */
export const moveLecture = checkedChange(
  z.strictObject({ id, sectionId, position }),
  async ({ trx, actor, record }, { id, ...wanted }) => {
    const lecture = mustBeThere(await findLecture(trx, actor.siteId, id), 'lecture')
    const { courseId } = lecture
    const section =
      wanted.sectionId === undefined
        ? lecture.sectionId
        : await sectionWithin(trx, actor.siteId, courseId, wanted.sectionId)
    const others = (await listLectures(trx, [courseId])).filter((other) => other.id !== id)
    await trx.updateTable('lecture').set({ section_id: section }).where('id', '=', id).execute()
    const moved = { id, sectionId: section, position: lecture.position, wanted: wanted.position }
    await place(trx, courseId, others, moved)
    const after = mustBeThere(await findLecture(trx, actor.siteId, id), 'lecture')
    const change = differenceOf(lecture, after)
    if (change) record('lecture.move', { kind: 'lecture', id }, change)
  },
)

/** Deletes a section. Keeps its lectures and moves them before the first section. */
export const deleteSection = makeDeletion('section', findSection)

/** Deletes a lecture and its watch positions. */
export const deleteLecture = makeDeletion('lecture', findLecture)

function makeDeletion(kind: 'section' | 'lecture', find: typeof findSection | typeof findLecture) {
  return siteChange(async ({ trx, actor, record }, id: string) => {
    const { courseId, title } = mustBeThere(await find(trx, actor.siteId, id), kind)
    await trx.deleteFrom(kind).where('id', '=', id).execute()
    await arrangeCourse(trx, courseId, {})
    const action = kind === 'section' ? 'section.delete' : 'lecture.delete'
    record(action, { kind, id }, { before: { course: courseId, title } })
  })
}

type Placed = Pick<Lecture, 'id' | 'sectionId' | 'position'>

/** Places a lecture at a position in its section, by default at the end. Stores the new order of the course. */
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

/** Returns `id`, or null if it is missing. @throws ChangeRefused if the course has no section with this id */
async function sectionWithin(
  trx: Transaction<Schema>,
  siteId: string,
  courseId: string,
  id: string | null | undefined,
): Promise<string | null> {
  if (id == null) return null
  const section = await findSection(trx, siteId, id)
  if (section?.courseId !== courseId) throw notFound('section')
  return id
}
