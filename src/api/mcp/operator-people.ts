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
  ...members.readBoth({
    noun: 'member',
    filters: { search: 'String', role: 'SiteRole', sort: 'TimeOrder' },
    selection: member,
  }),
  members.change({
    name: 'add_member',
    description:
      'Adds roles at the site to the person with an e-mail address. Only owners can add owners.',
  }),
  members.change({
    name: 'set_member_roles',
    title: 'Change the roles of a member',
    description: 'Replaces the roles of a member.',
    destroys: true,
  }),
  members.change({
    name: 'remove_member',
    description:
      'Removes all roles of a person at the site. Access ends at once. Purchases are kept and become ' +
      'available again if the person is added again.',
    ...removal,
  }),
]

const studentTools = [
  ...students.readBoth({
    noun: 'student',
    filters: { search: 'String', courseId: 'ID', sort: 'TimeOrder' },
    selection: student,
    details: `enrolments { ${enrolment} }`,
  }),
  students.change({
    name: 'enrol_student',
    description: 'Enrols a person of the site in a course without an order.',
    selection: 'id isNew',
  }),
  students.change({
    name: 'update_enrolment',
    description: 'Changes the end of an enrolment to another time, or to lifetime access.',
    destroys: true,
  }),
  students.change({
    name: 'end_enrolment',
    description: "Ends an enrolment and the student's access to the course now.",
    takes: { id: 'ID!' },
    destroys: true,
  }),
]

const lecturerTools = [
  ...lecturers.readBoth({
    noun: 'lecturer',
    filters: { search: 'String' },
    selection: lecturer,
    order: ' and their courses',
  }),
  lecturers.change({
    name: 'assign_lecturer',
    title: 'Assign a lecturer to a course',
    description: 'Assigns a lecturer of the site to a course.',
    takes: { input: 'TeachingInput!' },
  }),
  lecturers.change({
    name: 'unassign_lecturer',
    title: 'Remove a lecturer from a course',
    description: 'Removes a lecturer from a course.',
    takes: { input: 'TeachingInput!' },
    destroys: true,
  }),
]

/** Members, students and lecturers of the site. */
export const peopleTools: readonly Tool[] = [...memberTools, ...studentTools, ...lecturerTools]
