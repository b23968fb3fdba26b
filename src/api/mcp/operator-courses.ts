import { removal, toolsOf } from './operator.ts'
import type { Tool } from './tool.ts'

const courses = toolsOf('courses')
const curriculum = toolsOf('curriculum')

const course =
  'id slug title summary state publishedAt archivedAt createdAt lectureCount enrolmentCount'
const lecture = 'id courseId sectionId position title durationSeconds'

const courseTools = [
  courses.list({
    name: 'list_site_courses',
    title: 'Courses of the site',
    description: "Lists the courses of the token's site, drafts included.",
    list: 'courses',
    filters: { search: 'String', state: 'ReleaseState', sort: 'CourseSort' },
    nodes: course,
  }),
  courses.find({
    name: 'get_site_course',
    title: 'A course of the site',
    description: "Returns one course of the token's site, by its id or its slug.",
    field: 'course',
    by: { id: 'ID', slug: 'String' },
    selection: course,
  }),
  courses.change({
    name: 'create_course',
    title: 'Make a course',
    description: 'Makes a course, as a draft that visitors do not see. publish_course shows it.',
  }),
  courses.change({
    name: 'update_course',
    title: 'Change a course',
    description: 'Changes slug, title or summary of a course; what is left out stays.',
    destroys: true,
  }),
  courses.change({
    name: 'publish_course',
    title: 'Publish a course',
    description: 'Shows a course to visitors, now or from a moment on.',
    takes: { id: 'ID!', at: 'DateTime' },
  }),
  courses.change({
    name: 'unpublish_course',
    title: 'Take a course back',
    description: 'Makes a course a draft again. Those who are enrolled keep it.',
    takes: { id: 'ID!' },
    destroys: true,
  }),
  courses.change({
    name: 'archive_course',
    title: 'Archive a course',
    description:
      'Puts a course away. Those who are enrolled keep it; restore_course brings it back.',
    takes: { id: 'ID!' },
    destroys: true,
  }),
  courses.change({
    name: 'restore_course',
    title: 'Bring a course back',
    description: 'Brings an archived course back, as it was.',
    takes: { id: 'ID!' },
  }),
]

const curriculumTools = [
  courses.find({
    name: 'get_site_curriculum',
    title: 'Curriculum of a course',
    description:
      'Returns the sections and lectures of a course, by its id or its slug, in their order. Lectures ' +
      'without a section come first.',
    also: 'curriculum',
    field: 'course',
    by: { id: 'ID', slug: 'String' },
    selection: `id slug title sections { id position title } lectures { ${lecture} }`,
  }),
  curriculum.find({
    name: 'get_site_lecture',
    title: 'A lecture of the site',
    description: "Returns one lecture of a course of the token's site.",
    field: 'lecture',
    by: { id: 'ID!' },
    selection: lecture,
  }),
  curriculum.change({
    name: 'create_section',
    title: 'Make a section',
    description: 'Makes a section in a course, at a place or at the end.',
  }),
  curriculum.change({
    name: 'update_section',
    title: 'Change a section',
    description: 'Gives a section another title or another place.',
    destroys: true,
  }),
  curriculum.change({
    name: 'delete_section',
    title: 'Remove a section',
    description: 'Removes a section; its lectures stay, before the first section.',
    ...removal,
  }),
  curriculum.change({
    name: 'create_lecture',
    title: 'Make a lecture',
    description: 'Makes a lecture in a course, at a place or at the end.',
  }),
  curriculum.change({
    name: 'update_lecture',
    title: 'Change a lecture',
    description: 'Changes title or length of a lecture; what is left out stays.',
    destroys: true,
  }),
  curriculum.change({
    name: 'move_lecture',
    title: 'Move a lecture',
    description: 'Moves a lecture to another section or place of its course.',
    destroys: true,
  }),
  curriculum.change({
    name: 'delete_lecture',
    title: 'Remove a lecture',
    description:
      'Removes a lecture, with the places where people stopped in it. It does not come back.',
    ...removal,
  }),
]

/** What the site teaches. */
export const teachingTools: readonly Tool[] = [...courseTools, ...curriculumTools]
