import { z } from 'zod'

import { readScope } from '../scopes/catalogue.ts'
import {
  ENROLMENTS_SHOWN_MAX,
  type Enrolment,
  findLecturer,
  findMember,
  findStudent,
  listLecturers,
  listMembers,
  listStudents,
  type SiteLecturer,
  type SiteMember,
  type SiteStudent,
} from '../sites/operator-people.ts'
import { operatorTool, siteOf } from './operator.ts'
import {
  count,
  idArgument,
  isoTime,
  isoTimeOrNull,
  listAnswer,
  pageArguments,
  pageOf,
  timestamp,
} from './shapes.ts'
import { type Tool, ToolProblem } from './tool.ts'

const person = { id: z.string(), name: z.string(), email: z.string() }

const member = z.strictObject({
  ...person,
  roles: z.array(z.string()).describe('The roles that the person holds at this site.'),
  memberSince: timestamp,
})

const memberTools = [
  operatorTool({
    name: 'list_site_members',
    title: 'Members of the site',
    description: "Lists everybody who holds a role at the token's site, by name.",
    scope: readScope('members'),
    input: z.strictObject(pageArguments),
    output: pageOf(member),
    run: async (wanted, call) =>
      await listAnswer(call, 'members', {
        wanted,
        read: (db, page) => listMembers(db, siteOf(call), page),
        nodeOf: memberOf,
      }),
  }),
  operatorTool({
    name: 'get_site_member',
    title: 'A member of the site',
    description: "Returns one person who holds a role at the token's site.",
    scope: readScope('members'),
    input: z.strictObject({ id: idArgument('the person') }),
    output: member,
    run: async ({ id }, call) => {
      const row = await call.parts.read((db) => findMember(db, siteOf(call), id))
      if (!row) throw new ToolProblem(`The site has no member ${id}.`)
      return memberOf(row)
    },
  }),
]

const student = {
  ...person,
  studentSince: timestamp,
  enrolledCourseCount: count.describe('How many courses of this site the person bought.'),
}

const enrolment = z.strictObject({
  courseSlug: z.string(),
  courseTitle: z.string(),
  purchasedAt: timestamp,
  expiresAt: timestamp.nullable().describe('Null for lifetime access.'),
})

const studentTools = [
  operatorTool({
    name: 'list_site_students',
    title: 'Students of the site',
    description: "Lists the students of the token's site, by name.",
    scope: readScope('students'),
    input: z.strictObject(pageArguments),
    output: pageOf(z.strictObject(student)),
    run: async (wanted, call) =>
      await listAnswer(call, 'students', {
        wanted,
        read: (db, page) => listStudents(db, siteOf(call), page),
        nodeOf: studentOf,
      }),
  }),
  operatorTool({
    name: 'get_site_student',
    title: 'A student of the site',
    description: "Returns one student of the token's site with the site's courses they bought.",
    scope: readScope('students'),
    input: z.strictObject({ id: idArgument('the student') }),
    output: z.strictObject({
      ...student,
      enrolments: z.array(enrolment).max(ENROLMENTS_SHOWN_MAX),
    }),
    run: async ({ id }, call) => {
      const row = await call.parts.read((db) => findStudent(db, siteOf(call), id))
      if (!row) throw new ToolProblem(`The site has no student ${id}.`)
      return { ...studentOf(row), enrolments: row.enrolments.map(enrolmentOf) }
    },
  }),
]

const lecturer = z.strictObject({
  ...person,
  picture: z.string().nullable(),
  lecturerSince: timestamp,
  courses: z.array(z.string()).describe("Slugs of the site's courses that the person teaches."),
})

const lecturerTools = [
  operatorTool({
    name: 'list_site_lecturers',
    title: 'Lecturers of the site',
    description: "Lists the lecturers of the token's site and what they teach, by name.",
    scope: readScope('lecturers'),
    input: z.strictObject(pageArguments),
    output: pageOf(lecturer),
    run: async (wanted, call) =>
      await listAnswer(call, 'lecturers', {
        wanted,
        read: (db, page) => listLecturers(db, siteOf(call), page),
        nodeOf: lecturerOf,
      }),
  }),
  operatorTool({
    name: 'get_site_lecturer',
    title: 'A lecturer of the site',
    description: "Returns one lecturer of the token's site and what they teach.",
    scope: readScope('lecturers'),
    input: z.strictObject({ id: idArgument('the lecturer') }),
    output: lecturer,
    run: async ({ id }, call) => {
      const row = await call.parts.read((db) => findLecturer(db, siteOf(call), id))
      if (!row) throw new ToolProblem(`The site has no lecturer ${id}.`)
      return lecturerOf(row)
    },
  }),
]

/** Who belongs to the site. */
export const peopleTools: readonly Tool[] = [...memberTools, ...studentTools, ...lecturerTools]

function memberOf({ id, name, email, roles, memberSince }: SiteMember) {
  return { id, name, email, roles: [...roles], memberSince: isoTime(memberSince) }
}

function studentOf({ id, name, email, studentSince, enrolledCourseCount }: SiteStudent) {
  return { id, name, email, studentSince: isoTime(studentSince), enrolledCourseCount }
}

function enrolmentOf({ purchasedAt, expiresAt, ...course }: Enrolment) {
  return {
    ...course,
    purchasedAt: isoTime(purchasedAt),
    expiresAt: isoTimeOrNull(expiresAt),
  }
}

function lecturerOf({ id, name, email, picture, lecturerSince, courses }: SiteLecturer) {
  return {
    id,
    name,
    email,
    picture,
    lecturerSince: isoTime(lecturerSince),
    courses: [...courses],
  }
}
