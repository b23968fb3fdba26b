import { type ReleaseChange, releaseStateOf } from '../../school/changes/release.ts'
import {
  type Course,
  type CourseChanges,
  type CourseCreation,
  type CourseQuestion,
  countOf,
  createCourse,
  findCourse,
  listCourses,
  mustFindCourse,
  releaseCourse,
  updateCourse,
} from '../../school/courses/course-store.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'

interface CourseListArguments
  extends PageArguments,
    Pick<CourseQuestion, 'search' | 'state' | 'sort'> {}

interface CourseArguments {
  readonly id?: string | null
  readonly slug?: string | null
}

/** The courses of the site: `courses:read` and `courses:write`. */
export const courseResolvers = {
  Query: {
    courses: async (_source, args: CourseListArguments, context) => {
      const { search, state, sort } = args
      const { caller, parts } = context
      const question = { siteId: caller.siteId, nowMs: parts.now(), search, state, sort }
      const list = listCourses(parts.database, question)
      return await siteList({ named: ['courses', search, state, sort], args, context, list })
    },
    course: async (_source, { id, slug }: CourseArguments, { caller, parts }) => {
      const { kysely } = parts.database
      if (id != null) return (await findCourse(kysely, caller.siteId, { id })) ?? null
      if (slug == null) return null
      return (await findCourse(kysely, caller.siteId, { slug })) ?? null
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    createCourse: async (_source, { input }: { input: CourseCreation }, context) =>
      await courseAfter(
        context,
        await createCourse(context.parts.database, actorOf(context), input),
      ),
    updateCourse: async (
      _source,
      { input }: { input: CourseChanges & { id: string } },
      context,
    ) => {
      await updateCourse(context.parts.database, actorOf(context), input)
      return await courseAfter(context, input.id)
    },
    publishCourse: async (_source, { id, at }: { id: string; at?: number | null }, context) =>
      await released(context, id, { kind: 'publish', at: at ?? undefined }),
    unpublishCourse: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'unpublish' }),
    archiveCourse: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'archive' }),
    restoreCourse: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'restore' }),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Course: {
    state: (course, _args, { parts }) => releaseStateOf(course, parts.now()),
    lectureCount: async ({ id }, _args, context) => await counted(context, 'lecture', id),
    enrolmentCount: async ({ id }, _args, context) => await counted(context, 'course_purchase', id),
  } satisfies Record<string, AdminResolver<Course>>,
}

async function released(context: AdminContext, id: string, change: ReleaseChange) {
  await releaseCourse(context.parts.database, actorOf(context), { id, change })
  return await courseAfter(context, id)
}

/** The payload of a change: the course as it is now, for whoever may read it and asks. */
async function courseAfter({ caller, parts }: AdminContext, id: string) {
  return { id, course: async () => await mustFindCourse(parts.database.kysely, caller.siteId, id) }
}

/** Counted for all courses of a page at once. */
async function counted(
  { oneOfMany, parts }: AdminContext,
  table: Parameters<typeof countOf>[1],
  courseId: string,
): Promise<number> {
  const ofCourses = async (ids: readonly string[]) =>
    await countOf(parts.database.kysely, table, ids)
  return (await oneOfMany(`${table} count`, ofCourses, courseId)) ?? 0
}
