import type { Course } from '../../school/courses/course-store.ts'
import {
  findLecture,
  findSection,
  type Lecture,
  listLectures,
  listSections,
  type Section,
} from '../../school/courses/curriculum.ts'
import {
  createLecture,
  deleteLecture,
  type LectureChanges,
  type LectureCreation,
  type LectureMovement,
  moveLecture,
  updateLecture,
} from '../../school/courses/lectures.ts'
import {
  createSection,
  deleteSection,
  type SectionChanges,
  type SectionCreation,
  updateSection,
} from '../../school/courses/sections.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'

/** Sections and lectures of the site's courses: `curriculum:read` and `curriculum:write`. */
export const curriculumResolvers = {
  Query: {
    lecture: async (_source, { id }: { id: string }, { caller, parts }) =>
      await findLecture(parts.database.kysely, caller.siteId, id),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    createSection: async (_source, { input }: { input: SectionCreation }, context) =>
      await sectionAfter(
        context,
        await createSection(context.parts.database, actorOf(context), input),
      ),
    updateSection: async (_source, { input }: { input: SectionChanges }, context) => {
      await updateSection(context.parts.database, actorOf(context), input)
      return await sectionAfter(context, input.id)
    },
    deleteSection: async (_source, { id }: { id: string }, context) => {
      await deleteSection(context.parts.database, actorOf(context), id)
      return { deletedId: id }
    },
    createLecture: async (_source, { input }: { input: LectureCreation }, context) =>
      await lectureAfter(
        context,
        await createLecture(context.parts.database, actorOf(context), input),
      ),
    updateLecture: async (_source, { input }: { input: LectureChanges }, context) => {
      await updateLecture(context.parts.database, actorOf(context), input)
      return await lectureAfter(context, input.id)
    },
    moveLecture: async (_source, { input }: { input: LectureMovement }, context) => {
      await moveLecture(context.parts.database, actorOf(context), input)
      return await lectureAfter(context, input.id)
    },
    deleteLecture: async (_source, { id }: { id: string }, context) => {
      await deleteLecture(context.parts.database, actorOf(context), id)
      return { deletedId: id }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Course: {
    sections: async ({ id }, _args, context) => await sectionsOf(context, id),
    lectures: async ({ id }, _args, context) => await lecturesOf(context, id),
  } satisfies Record<string, AdminResolver<Pick<Course, 'id'>>>,
  Section: {
    lectures: async ({ id }, _args, context) => await lecturesOf(context, id, 'section'),
  } satisfies Record<string, AdminResolver<Section>>,
}

/** Asked for all courses of a page at once. */
async function sectionsOf({ oneOfMany, parts }: AdminContext, courseId: string) {
  const ofCourses = async (ids: readonly string[]) =>
    Map.groupBy(await listSections(parts.database.kysely, ids), (section) => section.courseId)
  return (await oneOfMany('sections', ofCourses, courseId)) ?? []
}

async function lecturesOf(
  { oneOfMany, parts }: AdminContext,
  id: string,
  whose: 'course' | 'section' = 'course',
): Promise<Lecture[]> {
  const findAll = async (ids: readonly string[]) =>
    Map.groupBy(
      await listLectures(parts.database.kysely, ids, whose),
      (lecture) => (whose === 'course' ? lecture.courseId : lecture.sectionId) ?? '',
    )
  return (await oneOfMany(`lectures of a ${whose}`, findAll, id)) ?? []
}

async function sectionAfter({ caller, parts }: AdminContext, id: string) {
  return { id, section: async () => await findSection(parts.database.kysely, caller.siteId, id) }
}

async function lectureAfter({ caller, parts }: AdminContext, id: string) {
  return { id, lecture: async () => await findLecture(parts.database.kysely, caller.siteId, id) }
}
