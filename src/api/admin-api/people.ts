import type { SiteRole } from '../../platform/store/schema.ts'
import {
  addMember,
  type MemberAddition,
  removeMember,
  setMemberRoles,
} from '../../school/members/change-members.ts'
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
import { findMember, type HeldRole, listHeldRoles } from '../../school/members/site-roles.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { batched, deletes, found, listed, updates } from './resolver-factories.ts'

type RoleName = Uppercase<SiteRole>

interface NamedRoles {
  readonly roles: readonly RoleName[]
}

type NewMember = Omit<MemberAddition, 'roles'> & NamedRoles
type MemberQuestion = Omit<PeopleQuestion, 'role'> & { readonly role?: RoleName | null }

export const rolesOf = batched('roles', listHeldRoles, [])

/** Resolvers for people of the site and their roles (scopes `members:read` and `members:write`). */
export const memberResolvers = {
  Query: {
    members: listed('members', (database, { role, ...question }: MemberQuestion) =>
      listPeople(database, { ...question, role: role && roleOf(role) }),
    ),
    member: personWith(),
  },
  Mutation: {
    addMember: async (_source: unknown, { input }: { input: NewMember }, context: AdminContext) => {
      const { database, memberAdditionsMax } = context.parts
      const addition = { ...input, roles: input.roles.map(roleOf) }
      const id = await addMember(database, actorOf(context), addition, memberAdditionsMax)
      return rolesAfter(id, context)
    },
    setMemberRoles: updates(
      (database, actor, { id, roles }: NamedRoles & { readonly id: string }) =>
        setMemberRoles(database, actor, { id, roles: roles.map(roleOf) }),
      rolesAfter,
    ),
    removeMember: deletes(removeMember),
  },
  Member: {
    memberSince: async (person, args, context) => (await rolesOf(person, args, context))[0]?.since,
    roles: rolesOf,
  } satisfies Record<string, AdminResolver<SitePerson>>,
  HeldRole: {
    role: ({ role }) => role.toUpperCase(),
  } satisfies Record<string, AdminResolver<HeldRole>>,
}

function roleOf(name: RoleName): SiteRole {
  return name.toLowerCase() as SiteRole
}

/** Creates a resolver that finds a person by id, who must have a role at the caller's site or, if given, `role`. */
export function personWith(role?: SiteRole) {
  return found((kysely, siteId, id) => findMember(kysely, siteId, { id, ...(role && { role }) }))
}

function rolesAfter(id: string, context: AdminContext) {
  return { id, roles: async () => await rolesOf({ id }, {}, context) }
}

const courseLecturers = batched('course lecturers', listCourseLecturers, [])

/** Resolvers for lecturers of the site and their courses (scopes `lecturers:read` and `lecturers:write`). */
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
