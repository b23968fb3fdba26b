import {
  countEnrolments,
  type Enrolment,
  endEnrolment,
  enrolStudent,
  findEnrolment,
  listEnrolments,
  listProgress,
  type Progress,
  updateEnrolment,
} from '../../school/members/enrolments.ts'
import { listStudents, type SitePerson } from '../../school/members/people-list.ts'
import type { AdminResolver } from './context.ts'
import { personWith, rolesOf } from './people.ts'
import { batched, changes, creates, listed, payloadWith, updates } from './resolver-factories.ts'

const payload = payloadWith('enrolment', findEnrolment)

/** Resolvers for the site's students and their enrolments (scopes `students:read` and `students:write`). */
export const studentResolvers = {
  Query: { students: listed('students', listStudents), student: personWith('student') },
  Mutation: {
    enrolStudent: creates(enrolStudent, payload),
    updateEnrolment: updates(updateEnrolment, payload),
    endEnrolment: changes(endEnrolment, payload),
  },
  Student: {
    studentSince: async (person, args, context) =>
      (await rolesOf(person, args, context)).find(({ role }) => role === 'student')?.since,
    enrolmentCount: batched('enrolment counts', countEnrolments, 0),
    enrolments: batched('enrolments', listEnrolments, []),
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
    progress: batched('progress', listProgress, null),
  } satisfies Record<string, AdminResolver<Enrolment>>,
  CourseProgress: {
    lastWatchedLecture: ({ lectureId, title }) => lectureId && { id: lectureId, title },
    lastWatchedAt: ({ watchedAt }) => watchedAt,
  } satisfies Record<string, AdminResolver<Progress>>,
}
