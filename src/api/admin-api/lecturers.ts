import type { Course } from '../../school/courses/course-store.ts'
import {
  assignLecturer,
  listCourseLecturers,
  listTaughtCourses,
  type Teaching,
  unassignLecturer,
} from '../../school/members/lecturers.ts'
import { listPeople, type SitePerson } from '../../school/members/people-list.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'
import { personWith, rolesOf } from './members.ts'

interface LecturerListArguments extends PageArguments {
  readonly search?: string | null
}

/** The lecturers of the site and what they teach: `lecturers:read` and `lecturers:write`. */
export const lecturerResolvers = {
  Query: {
    lecturers: async (_source, args: LecturerListArguments, context) => {
      const search = args.search ?? undefined
      const question = { siteId: context.caller.siteId, role: 'lecturer', search } as const
      const list = listPeople(context.parts.database, question)
      return await siteList({ named: ['lecturers', search], args, context, list })
    },
    lecturer: async (_source, { id }: { id: string }, context) =>
      await personWith(context, id, 'lecturer'),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    assignLecturer: async (_source, { input }: { input: Teaching }, context) => {
      await assignLecturer(context.parts.database, actorOf(context), input)
      return lecturersAfter(context, input.courseId)
    },
    unassignLecturer: async (_source, { input }: { input: Teaching }, context) => {
      await unassignLecturer(context.parts.database, actorOf(context), input)
      return lecturersAfter(context, input.courseId)
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Course: {
    lecturers: async ({ id }, _args, context) => await lecturersOf(context, id),
  } satisfies Record<string, AdminResolver<Pick<Course, 'id'>>>,
  Lecturer: {
    lecturerSince: async ({ id }, _args, context) =>
      (await rolesOf(context, id)).find(({ role }) => role === 'lecturer')?.since,
    courses: async ({ id }, _args, { caller, parts, oneOfMany }) => {
      const ofPeople = async (ids: readonly string[]) =>
        await listTaughtCourses(parts.database.kysely, caller.siteId, ids)
      return (await oneOfMany('taught courses', ofPeople, id)) ?? []
    },
  } satisfies Record<string, AdminResolver<SitePerson>>,
}

/** Asked for all courses of a page at once. */
async function lecturersOf({ parts, oneOfMany }: AdminContext, courseId: string) {
  const ofCourses = async (ids: readonly string[]) =>
    await listCourseLecturers(parts.database.kysely, ids)
  return (await oneOfMany('course lecturers', ofCourses, courseId)) ?? []
}

function lecturersAfter(context: AdminContext, id: string) {
  return { id, lecturers: async () => await lecturersOf(context, id) }
}
