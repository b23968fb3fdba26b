import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { changeSite, createAtSite, differenceOf, type SiteActor } from '../changes/change.ts'
import { given, idempotencyKey, line, readInput, TITLE_LENGTH_MAX } from '../changes/fields.ts'
import { limitReached, notFound } from '../changes/refused.ts'
import { mustFindCourse } from './course-store.ts'
import {
  arrangeCourse,
  findSection,
  listSections,
  others,
  SECTIONS_PER_COURSE_MAX,
  within,
} from './curriculum.ts'
import { placeAmong } from './order.ts'

const title = line(TITLE_LENGTH_MAX)
const place = z.int().min(1, 'must be 1 or more').optional()
const creation = z.strictObject({ title, position: place, idempotencyKey })
const changes = z.strictObject({ title: title.optional(), position: place })

export type SectionCreation = z.input<typeof creation> & { readonly courseId: string }
export type SectionChanges = z.input<typeof changes> & { readonly id: string }

/** Makes a section, at its place among the sections or at their end. @returns its id */
export async function createSection(
  database: Database,
  actor: SiteActor,
  { courseId, ...input }: SectionCreation,
): Promise<string> {
  const { idempotencyKey: key, ...wanted } = readInput(creation, input)
  const wish = { prefix: 'sec', idempotencyKey: key, wish: { courseId, ...wanted } }
  return await createAtSite(database, actor, {
    ...wish,
    isThere: async (trx, id) => (await findSection(trx, actor.siteId, id)) !== undefined,
    make: async (id, trx, record) => {
      await mustFindCourse(trx, actor.siteId, courseId)
      const sections = await listSections(trx, [courseId])
      if (sections.length >= SECTIONS_PER_COURSE_MAX) {
        throw limitReached(`a course has at most ${SECTIONS_PER_COURSE_MAX} sections`)
      }
      const made = { id, courseId, position: sections.length + 1, title: wanted.title }
      await trx
        .insertInto('section')
        .values({
          id,
          course_id: courseId,
          position: made.position,
          title: made.title,
          created_at: actor.now,
        })
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
  { id, ...input }: SectionChanges,
): Promise<void> {
  const { position, ...wanted } = readInput(changes, input)
  await changeSite(database, actor, async (trx, record) => {
    const section = await findSection(trx, actor.siteId, id)
    if (!section) throw notFound('section')
    const sections = await listSections(trx, [section.courseId])
    const change = differenceOf(section, given({ ...wanted, position: within(position, sections) }))
    if (!change) return
    if (wanted.title !== undefined) {
      await trx.updateTable('section').set({ title: wanted.title }).where('id', '=', id).execute()
    }
    if (change.after.position !== undefined) {
      const ordered = placeAmong(others(sections, id), section, position)
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
    const section = await findSection(trx, actor.siteId, id)
    if (!section) throw notFound('section')
    await trx.deleteFrom('section').where('id', '=', id).execute()
    await arrangeCourse(trx, section.courseId, {})
    await record({
      action: 'section.delete',
      subject: { kind: 'section', id },
      before: { course: section.courseId, title: section.title },
    })
  })
}
