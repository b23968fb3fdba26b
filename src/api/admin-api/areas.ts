import type { Resolvers } from '../graphql/schema.ts'
import { analyticsResolvers } from './analytics.ts'
import { appearanceResolvers } from './appearance.ts'
import { courseResolvers } from './courses.ts'
import { curriculumResolvers } from './curriculum.ts'
import { digitalProductResolvers } from './digital-products.ts'
import { eventResolvers } from './events.ts'
import { fileResolvers } from './files.ts'
import { lecturerResolvers } from './lecturers.ts'
import { memberResolvers } from './members.ts'
import { orderResolvers } from './orders.ts'
import { postResolvers } from './posts.ts'
import type { AreaName } from './schema-text.ts'
import { siteResolvers } from './site.ts'
import { studentResolvers } from './students.ts'

/** The resolvers of each area. */
export const areas: Readonly<Record<AreaName, Resolvers>> = {
  site: siteResolvers,
  courses: courseResolvers,
  curriculum: curriculumResolvers,
  students: studentResolvers,
  members: memberResolvers,
  lecturers: lecturerResolvers,
  orders: orderResolvers,
  'digital-products': digitalProductResolvers,
  events: eventResolvers,
  posts: postResolvers,
  analytics: analyticsResolvers,
  files: fileResolvers,
  appearance: appearanceResolvers,
}
