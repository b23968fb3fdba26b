import { readScope } from '../../directory/scopes/catalogue.ts'
import { itemTools, operatorTool, removal, toolsOf } from './operator.ts'
import type { Tool } from './tool.ts'

const school = toolsOf('school')
const orders = toolsOf('orders')
const posts = toolsOf('posts')
const appearance = toolsOf('appearance')
const analytics = toolsOf('analytics')
const courses = toolsOf('courses')
const curriculum = toolsOf('curriculum')
const events = toolsOf('events')
const members = toolsOf('members')
const students = toolsOf('students')
const lecturers = toolsOf('lecturers')

const site = 'id slug name description contactEmail address timeZone language createdAt'
const order = `id number placedAt buyer { id name email } totalCents currency couponCode invoiceNumber
  refundedAt items { kind id title }`
const post = 'id topic title body link createdAt updatedAt publishedAt deliveredAt'
const shownAppearance =
  'displayName logoFileId accentColor backgroundColor signInWords consentWords updatedAt'
const figures = `from until
  days { date enrolments activeMembers completedCourses signIns connectedApplications calls }`
const course =
  'id slug title summary state publishedAt archivedAt createdAt lectureCount enrolmentCount'
const lecture = 'id courseId sectionId position title durationSeconds'
const product = 'id slug title summary fileName state publishedAt archivedAt createdAt buyerCount'
const event =
  'id slug title summary location startsAt endsAt state publishedAt archivedAt createdAt registrationCount'
const member = 'id name email memberSince roles { role since }'
const student = 'id name email studentSince enrolmentCount'
const enrolment = `id course { id slug title } purchasedAt expireDate hasLifetimeAccess hasEnded
  progress { lectureCount completedLectureCount lastWatchedAt }`
const lecturer = 'id name email picture lecturerSince courses { id slug title }'

/** All tools for operators of a site, by area. */
export const operatorTools: readonly Tool[] = [
  operatorTool({
    name: 'get_site',
    title: 'Get the site',
    description: "Returns the name and settings of the token's site.",
    scopes: [readScope('school')],
    document: `query { site { ${site} } }`,
    pick: ['site'],
  }),
  school.change({
    name: 'update_site',
    title: 'Change the site',
    description:
      "Changes the name and settings of the token's site. Omit an argument to keep its current value.",
    destroys: true,
  }),
  ...orders.readBoth({
    noun: 'order',
    filters: { personId: 'ID', from: 'DateTime', until: 'DateTime', sort: 'TimeOrder' },
    by: { id: 'ID', number: 'String' },
    selection: order,
    order: ' and their items',
  }),
  ...itemTools('course', course),
  courses.find({
    name: 'get_site_curriculum',
    title: 'Get the curriculum of a course',
    description:
      'Returns the sections and lectures of a course by id or slug, in order. Lectures without a section ' +
      'come first.',
    also: 'curriculum',
    field: 'course',
    by: { id: 'ID', slug: 'String' },
    selection: `id slug title sections { id position title } lectures { ${lecture} }`,
  }),
  curriculum.find({
    name: 'get_site_lecture',
    title: 'Get a lecture of the site',
    description: "Returns one lecture of the token's site.",
    field: 'lecture',
    by: { id: 'ID!' },
    selection: lecture,
  }),
  curriculum.change({
    name: 'create_section',
    description: 'Creates a section in a course, at a given position or at the end.',
  }),
  curriculum.change({
    name: 'update_section',
    description: 'Renames or moves a section.',
    destroys: true,
  }),
  curriculum.change({
    name: 'delete_section',
    description: 'Removes a section. Its lectures move before the first section.',
    ...removal,
  }),
  curriculum.change({
    name: 'create_lecture',
    description: 'Creates a lecture in a course, at a given position or at the end.',
  }),
  curriculum.change({
    name: 'update_lecture',
    description:
      'Changes the title or duration of a lecture. Omit an argument to keep its current value.',
    destroys: true,
  }),
  curriculum.change({
    name: 'move_lecture',
    description: 'Moves a lecture to another section or position of its course.',
    destroys: true,
  }),
  curriculum.change({
    name: 'delete_lecture',
    description: 'Removes a lecture and the watch progress in it. This cannot be undone.',
    ...removal,
  }),
  ...itemTools('digital_product', product),
  ...itemTools('event', event),
  events.change({
    name: 'register_for_event',
    title: 'Register a person for an event',
    description: 'Registers a person with a role at the site for an event.',
    takes: { eventId: 'ID!', personId: 'ID!' },
  }),
  events.change({
    name: 'cancel_registration',
    description: "Cancels a person's registration for an event.",
    takes: { id: 'ID!' },
    destroys: true,
  }),
  ...posts.readBoth({
    noun: 'post',
    filters: { search: 'String', published: 'Boolean' },
    selection: post,
    order: ': announcements, newest first, including drafts',
  }),
  posts.change({
    name: 'create_post',
    title: 'Create an announcement',
    description: 'Creates an announcement as a draft. publish_post sends it.',
  }),
  posts.change({
    name: 'update_post',
    title: 'Change an announcement',
    description: 'Changes a draft announcement. Omit an argument to keep its current value.',
    destroys: true,
  }),
  posts.change({
    name: 'publish_post',
    title: 'Send an announcement',
    description:
      'Sends an announcement to the inbox of every member who subscribes to its topic. This cannot be ' +
      'undone.',
    takes: { id: 'ID!' },
    destroys: true,
  }),
  posts.change({
    name: 'delete_post',
    title: 'Remove an announcement',
    description: 'Removes an announcement and its notifications.',
    ...removal,
  }),
  operatorTool({
    name: 'get_site_appearance',
    title: 'Get the appearance of the site',
    description: 'Returns the name, logo, colors and texts of the sign-in and consent pages.',
    scopes: [readScope('appearance')],
    document: `query { appearance { ${shownAppearance} } }`,
    pick: ['appearance'],
  }),
  appearance.change({
    name: 'update_appearance',
    title: 'Change the appearance of the site',
    description:
      'Changes the name, logo, colors or texts of the sign-in and consent pages. Omit an argument to keep its ' +
      'current value.',
    destroys: true,
  }),
  analytics.find({
    name: 'get_site_analytics',
    title: 'Get statistics of the site',
    description:
      'Returns daily counts for at most 92 days: enrolments, active members, completed courses, sign-ins, ' +
      'connected applications and calls.',
    field: 'analytics',
    by: { from: 'DateTime', to: 'DateTime' },
    selection: figures,
  }),
  ...members.readBoth({
    noun: 'member',
    filters: { search: 'String', role: 'SiteRole', sort: 'TimeOrder' },
    selection: member,
  }),
  members.change({
    name: 'invite_member',
    description:
      'Sends an invitation to the site to an e-mail address. The person gets the roles when they accept. ' +
      'Only owners can invite owners.',
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
      'available again if the person joins again.',
    ...removal,
  }),
  ...students.readBoth({
    noun: 'student',
    filters: { search: 'String', courseId: 'ID', sort: 'TimeOrder' },
    selection: student,
    details: `enrolments { ${enrolment} }`,
  }),
  students.change({
    name: 'enrol_student',
    description: 'Enrols a person with a role at the site in a course, without an order.',
    selection: 'id isNew',
  }),
  students.change({
    name: 'update_enrolment',
    description: 'Changes when an enrolment ends, or grants lifetime access.',
    destroys: true,
  }),
  students.change({
    name: 'end_enrolment',
    description: "Ends an enrolment and the student's access to the course now.",
    takes: { id: 'ID!' },
    destroys: true,
  }),
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
    description: 'Removes a person from the lecturers of a course.',
    takes: { input: 'TeachingInput!' },
    destroys: true,
  }),
]
