import { itemTools, removal, toolsOf } from './operator.ts'
import type { Tool } from './tool.ts'

const courses = toolsOf('courses')
const curriculum = toolsOf('curriculum')
const events = toolsOf('events')

const course =
  'id slug title summary state publishedAt archivedAt createdAt lectureCount enrolmentCount'
const lecture = 'id courseId sectionId position title durationSeconds'
const product = 'id slug title summary fileName state publishedAt archivedAt createdAt buyerCount'
const event =
  'id slug title summary location startsAt endsAt state publishedAt archivedAt createdAt registrationCount'

const curriculumTools = [
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
    description: 'Changes the title or duration of a lecture. Omitted arguments stay unchanged.',
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
]

const registrationTools = [
  events.change({
    name: 'register_for_event',
    title: 'Register a person for an event',
    description: 'Registers a person of the site for an event.',
    takes: { eventId: 'ID!', personId: 'ID!' },
  }),
  events.change({
    name: 'cancel_registration',
    description: "Cancels a person's registration for an event.",
    takes: { id: 'ID!' },
    destroys: true,
  }),
]

/** Courses, digital products and events of the site. */
export const offerTools: readonly Tool[] = [
  ...itemTools('course', course),
  ...curriculumTools,
  ...itemTools('digital_product', product),
  ...itemTools('event', event),
  ...registrationTools,
]
