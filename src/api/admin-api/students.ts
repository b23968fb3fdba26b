import {
  type EnrolmentWish,
  endEnrolment,
  enrolStudent,
  type Lasting,
  updateEnrolment,
} from '../../school/members/change-enrolments.ts'
import {
  countEnrolments,
  type Enrolment,
  findEnrolment,
  listEnrolments,
} from '../../school/members/enrolments.ts'
import type { SitePerson } from '../../school/members/people-list.ts'
import { listProgress, type Progress } from '../../school/members/progress.ts'
import { listStudents, type StudentQuestion } from '../../school/members/student-list.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'
import { personWith, rolesOf } from './members.ts'

interface StudentListArguments
  extends PageArguments,
    Pick<StudentQuestion, 'search' | 'courseId' | 'sort'> {}

/** The students of the site and what they take: `students:read` and `students:write`. */
export const studentResolvers = {
  Query: {
    students: async (_source, args: StudentListArguments, context) => {
      const search = args.search ?? undefined
      const courseId = args.courseId ?? undefined
      const { sort } = args
      const question = { siteId: context.caller.siteId, search, courseId, sort }
      const list = listStudents(context.parts.database, question)
      return await siteList({ named: ['students', search, courseId, sort], args, context, list })
    },
    student: async (_source, { id }: { id: string }, context) =>
      await personWith(context, id, 'student'),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    enrolStudent: async (_source, { input }: { input: EnrolmentWish }, context) => {
      const { id, isNew } = await enrolStudent(context.parts.database, actorOf(context), input)
      return { isNew, ...enrolmentAfter(context, id) }
    },
    updateEnrolment: async (
      _source,
      { input }: { input: Lasting & { readonly id: string } },
      context,
    ) => {
      await updateEnrolment(context.parts.database, actorOf(context), input)
      return enrolmentAfter(context, input.id)
    },
    endEnrolment: async (_source, { id }: { id: string }, context) => {
      await endEnrolment(context.parts.database, actorOf(context), id)
      return enrolmentAfter(context, id)
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Student: {
    studentSince: async ({ id }, _args, context) =>
      (await rolesOf(context, id)).find(({ role }) => role === 'student')?.since,
    enrolmentCount: async ({ id }, _args, { caller, parts, oneOfMany }) => {
      const ofPeople = async (ids: readonly string[]) =>
        await countEnrolments(parts.database.kysely, caller.siteId, ids)
      return (await oneOfMany('enrolment counts', ofPeople, id)) ?? 0
    },
    enrolments: async ({ id }, _args, { caller, parts, oneOfMany }) => {
      const ofPeople = async (ids: readonly string[]) =>
        await listEnrolments(parts.database.kysely, caller.siteId, ids)
      return (await oneOfMany('enrolments', ofPeople, id)) ?? []
    },
  } satisfies Record<string, AdminResolver<SitePerson>>,
  Enrolment: {
    course: ({ courseId, courseSlug, courseTitle }) => ({
      id: courseId,
      slug: courseSlug,
      title: courseTitle,
    }),
    expireDate: ({ expiresAt }) => expiresAt,
    hasLifetimeAccess: ({ expiresAt }) => expiresAt === null,
    hasEnded: ({ expiresAt }, _args, { parts }) => expiresAt !== null && expiresAt <= parts.now(),
    progress: async ({ id }, _args, { parts, oneOfMany }) => {
      const ofEnrolments = async (ids: readonly string[]) =>
        await listProgress(parts.database.kysely, ids)
      return await oneOfMany('progress', ofEnrolments, id)
    },
  } satisfies Record<string, AdminResolver<Enrolment>>,
  CourseProgress: {
    lastWatchedLecture: ({ lastWatched }) =>
      lastWatched ? { id: lastWatched.lectureId, title: lastWatched.title } : null,
    lastWatchedAt: ({ lastWatched }) => lastWatched?.watchedAt,
  } satisfies Record<string, AdminResolver<Progress>>,
}

/** The payload of a change: the enrolment as it is now, for whoever may read it and asks. */
function enrolmentAfter({ caller, parts }: AdminContext, id: string) {
  const { kysely } = parts.database
  return { id, enrolment: async () => await findEnrolment(kysely, caller.siteId, id) }
}
