import type { SiteRole } from '../../platform/store/schema.ts'
import {
  findInvitation,
  listInvitations,
  type NewInvitation,
  readOffer,
} from '../../school/members/invitations.ts'
import {
  assignLecturer,
  listCourseLecturers,
  listTaughtCourses,
  type Teaching,
  unassignLecturer,
} from '../../school/members/lecturers.ts'
import {
  listPeople,
  type PeopleQuestion,
  type SitePerson,
} from '../../school/members/people-list.ts'
import {
  findMember,
  listHeldRoles,
  removeMember,
  setMemberRoles,
} from '../../school/members/site-roles.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { batched, byId, deletes, listed, updates } from './resolver-factories.ts'

export const rolesOf = batched('roles', listHeldRoles, [])

/** Resolvers for the site's people and their roles (scopes `members:read` and `members:write`). */
export const memberResolvers = {
  Query: {
    members: listed('members', listPeople),
    member: personWith(),
    invitations: listed('invitations', listInvitations),
  },
  Mutation: {
    inviteMember: async (
      _source: unknown,
      { input }: { readonly input: NewInvitation },
      context: AdminContext,
    ) => {
      const { database, invitations } = context.parts
      return invited(await invitations.invite(database, actorOf(context), input), context)
    },
    resendInvitation: inviting('resend', invited),
    withdrawInvitation: inviting('withdraw', (deletedId) => ({ deletedId })),
    sendPasswordRecovery: inviting('sendRecovery', (id) => ({ id })),
    setMemberRoles: updates(setMemberRoles, rolesAfter),
    removeMember: deletes(removeMember),
  },
  Member: {
    memberSince: async (person, args, context) => (await rolesOf(person, args, context))[0]?.since,
    roles: rolesOf,
  } satisfies Record<string, AdminResolver<SitePerson>>,
  Invitation: {
    name: ({ data }) => readOffer(data).name,
    roles: ({ data }) => readOffer(data).roles,
  } satisfies Record<string, AdminResolver<{ readonly data: string | null }>>,
  SiteRole: { OWNER: 'owner', ADMIN: 'admin', LECTURER: 'lecturer', STUDENT: 'student' },
}

function invited(id: string, { caller: { siteId }, parts: { database, now } }: AdminContext) {
  const invitation = async () => await findInvitation(database.kysely, { siteId, nowMs: now() }, id)
  return { id, invitation }
}

/** Creates the resolver of a mutation that `makeInvitations` implements. The mutation takes only an id. */
function inviting(
  name: 'resend' | 'withdraw' | 'sendRecovery',
  payload: (id: string, context: AdminContext) => object,
) {
  return async (_source: unknown, { id }: { readonly id: string }, context: AdminContext) => {
    await context.parts.invitations[name](context.parts.database, actorOf(context), id)
    return payload(id, context)
  }
}

/** Creates a resolver that finds a person by id. The person must have `role` or, by default, any role at the site. */
export function personWith(role?: SiteRole) {
  return byId((kysely, siteId, id) => findMember(kysely, siteId, { id, ...(role && { role }) }))
}

function rolesAfter(id: string, context: AdminContext) {
  return { id, roles: async () => await rolesOf({ id }, {}, context) }
}

const courseLecturers = batched('course lecturers', listCourseLecturers, [])

/** Resolvers for the site's lecturers and their courses (scopes `lecturers:read` and `lecturers:write`). */
export const lecturerResolvers = {
  Query: {
    lecturers: listed('lecturers', (database, question: PeopleQuestion) =>
      listPeople(database, { ...question, role: 'lecturer' }),
    ),
    lecturer: personWith('lecturer'),
  },
  Mutation: {
    assignLecturer: teaching(assignLecturer),
    unassignLecturer: teaching(unassignLecturer),
  },
  Course: { lecturers: courseLecturers },
  Lecturer: {
    lecturerSince: async (person, args, context) =>
      (await rolesOf(person, args, context)).find(({ role }) => role === 'lecturer')?.since,
    courses: batched('taught courses', listTaughtCourses, []),
  } satisfies Record<string, AdminResolver<SitePerson>>,
}

function teaching(change: typeof assignLecturer) {
  return async (_source: unknown, { input }: { input: Teaching }, context: AdminContext) => {
    await change(context.parts.database, actorOf(context), input)
    const course = { id: input.courseId }
    return { ...course, lecturers: async () => await courseLecturers(course, {}, context) }
  }
}
