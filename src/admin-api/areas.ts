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
import { siteResolvers } from './site.ts'
import { studentResolvers } from './students.ts'

/** The areas of the Admin API: each a file of the schema and the resolvers of its types. */
export const areas = [
  { file: 'site.graphql', resolvers: siteResolvers },
  { file: 'courses.graphql', resolvers: courseResolvers },
  { file: 'curriculum.graphql', resolvers: curriculumResolvers },
  { file: 'students.graphql', resolvers: studentResolvers },
  { file: 'members.graphql', resolvers: memberResolvers },
  { file: 'lecturers.graphql', resolvers: lecturerResolvers },
  { file: 'orders.graphql', resolvers: orderResolvers },
  { file: 'digital-products.graphql', resolvers: digitalProductResolvers },
  { file: 'events.graphql', resolvers: eventResolvers },
  { file: 'posts.graphql', resolvers: postResolvers },
  { file: 'analytics.graphql', resolvers: analyticsResolvers },
  { file: 'files.graphql', resolvers: fileResolvers },
  { file: 'appearance.graphql', resolvers: appearanceResolvers },
] as const
