import { z } from 'zod'

import { readScope } from '../scopes/catalogue.ts'
import {
  findCourse,
  findDigitalProduct,
  findEvent,
  findLecture,
  listCourses,
  listDigitalProducts,
  listEvents,
  listLectures,
  type OperatorCourse,
  type OperatorDigitalProduct,
  type OperatorEvent,
  type OperatorLecture,
} from '../sites/operator-offers.ts'
import { operatorTool, siteOf } from './operator.ts'
import {
  count,
  idArgument,
  isoTime,
  isoTimeOrNull,
  listAnswer,
  pageArguments,
  pageOf,
  slugArgument,
  timestamp,
} from './shapes.ts'
import { type Tool, ToolProblem } from './tool.ts'

const draft = timestamp.nullable().describe('Null for a draft.')

const course = z.strictObject({
  id: z.string(),
  slug: z.string(),
  title: z.string(),
  summary: z.string(),
  publishedAt: draft,
  createdAt: timestamp,
  lectureCount: count,
  buyerCount: count,
})

const courseTools = [
  operatorTool({
    name: 'list_site_courses',
    title: 'Courses of the site',
    description: "Lists the courses of the token's site by slug, drafts included.",
    scope: readScope('courses'),
    input: z.strictObject(pageArguments),
    output: pageOf(course),
    run: async (wanted, call) =>
      await listAnswer(call, 'courses', {
        wanted,
        read: (db, page) => listCourses(db, siteOf(call), page),
        nodeOf: courseOf,
      }),
  }),
  operatorTool({
    name: 'get_site_course',
    title: 'A course of the site',
    description: "Returns one course of the token's site, published or not.",
    scope: readScope('courses'),
    input: z.strictObject({ slug: slugArgument('the course') }),
    output: course,
    run: async ({ slug }, call) => {
      const row = await call.parts.read((db) => findCourse(db, siteOf(call), slug))
      if (!row) throw new ToolProblem(`The site has no course ${slug}.`)
      return courseOf(row)
    },
  }),
]

const lecture = {
  id: z.string(),
  position: z.int().describe('Its place in the course.'),
  title: z.string(),
  durationSeconds: count,
}

const curriculumTools = [
  operatorTool({
    name: 'list_site_lectures',
    title: 'Curriculum of a course',
    description: "Lists the lectures of one course of the token's site, in their order.",
    scope: readScope('curriculum'),
    input: z.strictObject({ course: slugArgument('the course'), ...pageArguments }),
    output: pageOf(z.strictObject(lecture)),
    run: async ({ course: courseSlug, ...wanted }, call) =>
      await listAnswer(call, 'lectures', {
        wanted,
        read: (db, page) => listLectures(db, { siteId: siteOf(call), courseSlug }, page),
        missing: `The site has no course ${courseSlug}.`,
        nodeOf: lectureOf,
      }),
  }),
  operatorTool({
    name: 'get_site_lecture',
    title: 'A lecture of the site',
    description: "Returns one lecture of the token's site and the slug of its course.",
    scope: readScope('curriculum'),
    input: z.strictObject({ id: idArgument('the lecture') }),
    output: z.strictObject({ ...lecture, courseSlug: z.string() }),
    run: async ({ id }, call) => {
      const row = await call.parts.read((db) => findLecture(db, siteOf(call), id))
      if (!row) throw new ToolProblem(`The site has no lecture ${id}.`)
      return { ...lectureOf(row), courseSlug: row.courseSlug }
    },
  }),
]

const digitalProduct = z.strictObject({
  id: z.string(),
  slug: z.string(),
  title: z.string(),
  summary: z.string(),
  fileName: z.string(),
  publishedAt: draft,
  createdAt: timestamp,
  buyerCount: count,
})

const digitalProductTools = [
  operatorTool({
    name: 'list_site_digital_products',
    title: 'Digital products of the site',
    description: "Lists the digital products of the token's site by slug, drafts included.",
    scope: readScope('digital_products'),
    input: z.strictObject(pageArguments),
    output: pageOf(digitalProduct),
    run: async (wanted, call) =>
      await listAnswer(call, 'digital_products', {
        wanted,
        read: (db, page) => listDigitalProducts(db, siteOf(call), page),
        nodeOf: digitalProductOf,
      }),
  }),
  operatorTool({
    name: 'get_site_digital_product',
    title: 'A digital product of the site',
    description: "Returns one digital product of the token's site, published or not.",
    scope: readScope('digital_products'),
    input: z.strictObject({ slug: slugArgument('the digital product') }),
    output: digitalProduct,
    run: async ({ slug }, call) => {
      const row = await call.parts.read((db) => findDigitalProduct(db, siteOf(call), slug))
      if (!row) throw new ToolProblem(`The site has no digital product ${slug}.`)
      return digitalProductOf(row)
    },
  }),
]

const event = z.strictObject({
  id: z.string(),
  slug: z.string(),
  title: z.string(),
  summary: z.string(),
  location: z.string().nullable().describe('Null while no place is settled.'),
  startsAt: timestamp,
  endsAt: timestamp,
  publishedAt: draft,
  createdAt: timestamp,
  registrationCount: count.describe('Registrations that were not cancelled.'),
})

const eventTools = [
  operatorTool({
    name: 'list_site_events',
    title: 'Events of the site',
    description: "Lists the events of the token's site by their start, drafts included.",
    scope: readScope('events'),
    input: z.strictObject(pageArguments),
    output: pageOf(event),
    run: async (wanted, call) =>
      await listAnswer(call, 'events', {
        wanted,
        read: (db, page) => listEvents(db, siteOf(call), page),
        nodeOf: eventOf,
      }),
  }),
  operatorTool({
    name: 'get_site_event',
    title: 'An event of the site',
    description: "Returns one event of the token's site with the number of its registrations.",
    scope: readScope('events'),
    input: z.strictObject({ slug: slugArgument('the event') }),
    output: event,
    run: async ({ slug }, call) => {
      const row = await call.parts.read((db) => findEvent(db, siteOf(call), slug))
      if (!row) throw new ToolProblem(`The site has no event ${slug}.`)
      return eventOf(row)
    },
  }),
]

/** What the site offers. */
export const productTools: readonly Tool[] = [
  ...courseTools,
  ...curriculumTools,
  ...digitalProductTools,
  ...eventTools,
]

function courseOf({ publishedAt, createdAt, ...course }: OperatorCourse) {
  return {
    ...course,
    publishedAt: isoTimeOrNull(publishedAt),
    createdAt: isoTime(createdAt),
  }
}

function lectureOf({ id, position, title, durationSeconds }: OperatorLecture) {
  return { id, position, title, durationSeconds }
}

function digitalProductOf({ publishedAt, createdAt, ...product }: OperatorDigitalProduct) {
  return {
    ...product,
    publishedAt: isoTimeOrNull(publishedAt),
    createdAt: isoTime(createdAt),
  }
}

function eventOf({ startsAt, endsAt, publishedAt, createdAt, ...event }: OperatorEvent) {
  return {
    ...event,
    startsAt: isoTime(startsAt),
    endsAt: isoTime(endsAt),
    publishedAt: isoTimeOrNull(publishedAt),
    createdAt: isoTime(createdAt),
  }
}
