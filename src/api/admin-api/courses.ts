import { countReferring } from '../../school/changes/released-items.ts'
import { courses } from '../../school/courses/course-store.ts'
import {
  findLecture,
  findSection,
  listLectures,
  listSections,
} from '../../school/courses/curriculum.ts'
import {
  createLecture,
  createSection,
  deleteLecture,
  deleteSection,
  moveLecture,
  updateLecture,
  updateSection,
} from '../../school/courses/curriculum-changes.ts'
import {
  batched,
  byId,
  creates,
  deletes,
  itemResolvers,
  payloadWith,
  updates,
} from './resolver-factories.ts'

/** Resolvers for the site's courses (scopes `courses:read` and `courses:write`). */
export const courseResolvers = itemResolvers('Course', courses, {
  lectureCount: batched('lectures of courses', countReferring('course', 'lecture'), 0),
  enrolmentCount: batched('enrolments in courses', countReferring('course', 'course_purchase'), 0),
})

const sectionPayload = payloadWith('section', findSection)
const lecturePayload = payloadWith('lecture', findLecture)

/** Resolvers for sections and lectures (scopes `curriculum:read` and `curriculum:write`). */
export const curriculumResolvers = {
  Query: { lecture: byId(findLecture) },
  Mutation: {
    createSection: creates(createSection, sectionPayload),
    updateSection: updates(updateSection, sectionPayload),
    deleteSection: deletes(deleteSection),
    createLecture: creates(createLecture, lecturePayload),
    updateLecture: updates(updateLecture, lecturePayload),
    moveLecture: updates(moveLecture, lecturePayload),
    deleteLecture: deletes(deleteLecture),
  },
  Course: {
    sections: batched(
      'sections',
      async (kysely, ids) =>
        Map.groupBy(await listSections(kysely, ids), ({ courseId }) => courseId),
      [],
    ),
    lectures: batched(
      'lectures of a course',
      async (kysely, ids) =>
        Map.groupBy(await listLectures(kysely, ids), ({ courseId }) => courseId),
      [],
    ),
  },
  Section: {
    lectures: batched(
      'lectures of a section',
      async (kysely, ids) =>
        Map.groupBy(await listLectures(kysely, ids, 'section'), ({ sectionId }) => sectionId ?? ''),
      [],
    ),
  },
}
