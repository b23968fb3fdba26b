import { removal, toolsOf } from './operator.ts'
import type { Tool } from './tool.ts'

const members = toolsOf('members')
const students = toolsOf('students')
const lecturers = toolsOf('lecturers')

const member = 'id name email memberSince roles { role since }'
const student = 'id name email studentSince enrolmentCount'
const enrolment = `id course { id slug title } purchasedAt expireDate hasLifetimeAccess hasEnded
  progress { lectureCount completedLectureCount lastWatchedAt }`
const lecturer = 'id name email picture lecturerSince courses { id slug title }'

const memberTools = [
  members.list({
    name: 'list_site_members',
    title: 'Members of the site',
    description: "Lists everybody who holds a role at the token's site.",
    list: 'members',
    filters: { search: 'String', role: 'SiteRole', sort: 'TimeOrder' },
    nodes: member,
  }),
  members.find({
    name: 'get_site_member',
    title: 'A member of the site',
    description: "Returns one person who holds a role at the token's site.",
    field: 'member',
    by: { id: 'ID!' },
    selection: member,
  }),
  members.change({
    name: 'add_member',
    title: 'Add a member',
    description:
      'Gives roles at the site to whoever has an e-mail address, beside those that they hold. Only owners ' +
      'make owners.',
  }),
  members.change({
    name: 'set_member_roles',
    title: 'Change the roles of a member',
    description: 'Lets a member hold these roles and no others.',
    destroys: true,
  }),
  members.change({
    name: 'remove_member',
    title: 'Remove a member',
    description:
      'Takes all roles at the site from a person. Their access ends at once; what they bought stays and is ' +
      'there again when they are added again.',
    ...removal,
  }),
]

const studentTools = [
  students.list({
    name: 'list_site_students',
    title: 'Students of the site',
    description: "Lists the students of the token's site.",
    list: 'students',
    filters: { search: 'String', courseId: 'ID', sort: 'TimeOrder' },
    nodes: student,
  }),
  students.find({
    name: 'get_site_student',
    title: 'A student of the site',
    description: 'Returns one student with their enrolments and how far they are.',
    field: 'student',
    by: { id: 'ID!' },
    selection: `${student} enrolments { ${enrolment} }`,
  }),
  students.change({
    name: 'enrol_student',
    title: 'Enrol a student',
    description: 'Enrols a person of the site in a course, without an order.',
    selection: 'id isNew',
  }),
  students.change({
    name: 'update_enrolment',
    title: 'Extend an enrolment',
    description: 'Lets an enrolment last until another moment, or for life.',
    destroys: true,
  }),
  students.change({
    name: 'end_enrolment',
    title: 'End an enrolment',
    description: "Ends an enrolment now: the student's access to the course is over.",
    takes: { id: 'ID!' },
    destroys: true,
  }),
]

const lecturerTools = [
  lecturers.list({
    name: 'list_site_lecturers',
    title: 'Lecturers of the site',
    description: "Lists the lecturers of the token's site and what they teach.",
    list: 'lecturers',
    filters: { search: 'String' },
    nodes: lecturer,
  }),
  lecturers.find({
    name: 'get_site_lecturer',
    title: 'A lecturer of the site',
    description: 'Returns one lecturer and what they teach.',
    field: 'lecturer',
    by: { id: 'ID!' },
    selection: lecturer,
  }),
  lecturers.change({
    name: 'assign_lecturer',
    title: 'Let a lecturer teach a course',
    description: 'Lets a lecturer of the site teach a course.',
    takes: { input: 'TeachingInput!' },
  }),
  lecturers.change({
    name: 'unassign_lecturer',
    title: 'Take a course from a lecturer',
    description: 'Lets a lecturer teach a course no more.',
    takes: { input: 'TeachingInput!' },
    destroys: true,
  }),
]

/** Who belongs to the site. */
export const peopleTools: readonly Tool[] = [...memberTools, ...studentTools, ...lecturerTools]
