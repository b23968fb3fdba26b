import { operatorChange, operatorFind, operatorList } from './operator.ts'
import type { Tool } from './tool.ts'

const course =
  'id slug title summary state publishedAt archivedAt createdAt lectureCount enrolmentCount'
const lecture = 'id courseId sectionId position title durationSeconds'

const courseTools = [
  operatorList({
    name: 'list_site_courses',
    title: 'Courses of the site',
    description: "Lists the courses of the token's site, drafts included.",
    area: 'courses',
    list: 'courses',
    filters: { search: 'String', state: 'ReleaseState', sort: 'CourseSort' },
    nodes: course,
  }),
  operatorFind({
    name: 'get_site_course',
    title: 'A course of the site',
    description: "Returns one course of the token's site, by its id or its slug.",
    areas: ['courses'],
    field: 'course',
    by: { id: 'ID', slug: 'String' },
    selection: course,
  }),
  operatorChange({
    name: 'create_course',
    title: 'Make a course',
    description: 'Makes a course, as a draft that visitors do not see. publish_course shows it.',
    area: 'courses',
    field: 'createCourse',
    takes: { input: 'CreateCourseInput!' },
  }),
  operatorChange({
    name: 'update_course',
    title: 'Change a course',
    description: 'Changes slug, title or summary of a course; what is left out stays.',
    area: 'courses',
    field: 'updateCourse',
    takes: { input: 'UpdateCourseInput!' },
    destroys: true,
  }),
  operatorChange({
    name: 'publish_course',
    title: 'Publish a course',
    description: 'Shows a course to visitors, now or from a moment on.',
    area: 'courses',
    field: 'publishCourse',
    takes: { id: 'ID!', at: 'DateTime' },
  }),
  operatorChange({
    name: 'unpublish_course',
    title: 'Take a course back',
    description: 'Makes a course a draft again. Those who are enrolled keep it.',
    area: 'courses',
    field: 'unpublishCourse',
    takes: { id: 'ID!' },
    destroys: true,
  }),
  operatorChange({
    name: 'archive_course',
    title: 'Archive a course',
    description:
      'Puts a course away. Those who are enrolled keep it; restore_course brings it back.',
    area: 'courses',
    field: 'archiveCourse',
    takes: { id: 'ID!' },
    destroys: true,
  }),
  operatorChange({
    name: 'restore_course',
    title: 'Bring a course back',
    description: 'Brings an archived course back, as it was.',
    area: 'courses',
    field: 'restoreCourse',
    takes: { id: 'ID!' },
  }),
]

const curriculumTools = [
  operatorFind({
    name: 'get_site_curriculum',
    title: 'Curriculum of a course',
    description:
      'Returns the sections and lectures of a course, by its id or its slug, in their order. Lectures ' +
      'without a section come first.',
    areas: ['courses', 'curriculum'],
    field: 'course',
    by: { id: 'ID', slug: 'String' },
    selection: `id slug title sections { id position title } lectures { ${lecture} }`,
  }),
  operatorFind({
    name: 'get_site_lecture',
    title: 'A lecture of the site',
    description: "Returns one lecture of a course of the token's site.",
    areas: ['curriculum'],
    field: 'lecture',
    by: { id: 'ID!' },
    selection: lecture,
  }),
  operatorChange({
    name: 'create_section',
    title: 'Make a section',
    description: 'Makes a section in a course, at a place or at the end.',
    area: 'curriculum',
    field: 'createSection',
    takes: { input: 'CreateSectionInput!' },
  }),
  operatorChange({
    name: 'update_section',
    title: 'Change a section',
    description: 'Gives a section another title or another place.',
    area: 'curriculum',
    field: 'updateSection',
    takes: { input: 'UpdateSectionInput!' },
    destroys: true,
  }),
  operatorChange({
    name: 'delete_section',
    title: 'Remove a section',
    description: 'Removes a section; its lectures stay, before the first section.',
    area: 'curriculum',
    field: 'deleteSection',
    takes: { id: 'ID!' },
    selection: 'deletedId',
    destroys: true,
  }),
  operatorChange({
    name: 'create_lecture',
    title: 'Make a lecture',
    description: 'Makes a lecture in a course, at a place or at the end.',
    area: 'curriculum',
    field: 'createLecture',
    takes: { input: 'CreateLectureInput!' },
  }),
  operatorChange({
    name: 'update_lecture',
    title: 'Change a lecture',
    description: 'Changes title or length of a lecture; what is left out stays.',
    area: 'curriculum',
    field: 'updateLecture',
    takes: { input: 'UpdateLectureInput!' },
    destroys: true,
  }),
  operatorChange({
    name: 'move_lecture',
    title: 'Move a lecture',
    description: 'Moves a lecture to another section or place of its course.',
    area: 'curriculum',
    field: 'moveLecture',
    takes: { input: 'MoveLectureInput!' },
    destroys: true,
  }),
  operatorChange({
    name: 'delete_lecture',
    title: 'Remove a lecture',
    description:
      'Removes a lecture, with the places where people stopped in it. It does not come back.',
    area: 'curriculum',
    field: 'deleteLecture',
    takes: { id: 'ID!' },
    selection: 'deletedId',
    destroys: true,
  }),
]

/** What the site teaches. */
export const teachingTools: readonly Tool[] = [...courseTools, ...curriculumTools]
