import { readScope } from '../../directory/scopes/catalogue.ts'
import { operatorTool, removal, toolsOf } from './operator.ts'
import type { Tool } from './tool.ts'

const school = toolsOf('school')
const orders = toolsOf('orders')
const posts = toolsOf('posts')
const appearance = toolsOf('appearance')
const analytics = toolsOf('analytics')

const site = 'id slug name description contactEmail address timeZone language createdAt'
const order = `id number placedAt buyer { id name email } totalCents currency couponCode invoiceNumber
  refundedAt items { kind id title }`

/** Settings and orders of the site. */
export const siteTools: readonly Tool[] = [
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
      "Changes the name and settings of the token's site. Omitted arguments stay unchanged.",
    destroys: true,
  }),
  ...orders.readBoth({
    noun: 'order',
    filters: { personId: 'ID', from: 'DateTime', until: 'DateTime', sort: 'TimeOrder' },
    by: { id: 'ID', number: 'String' },
    selection: order,
    order: ' and their items',
  }),
]

const post = 'id topic title body link createdAt updatedAt publishedAt deliveredAt'
const shownAppearance =
  'displayName logoFileId accentColor backgroundColor signInWords consentWords updatedAt'

const postTools = [
  ...posts.readBoth({
    noun: 'post',
    filters: { search: 'String', published: 'Boolean' },
    selection: post,
    order: ' (announcements), newest first, including drafts',
  }),
  posts.change({
    name: 'create_post',
    title: 'Create an announcement',
    description: 'Creates an announcement as a draft. publish_post sends it.',
  }),
  posts.change({
    name: 'update_post',
    title: 'Change an announcement',
    description: 'Changes a draft announcement. Omitted arguments stay unchanged.',
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
]

const figures = `from until
  days { date enrolments activeMembers completedCourses signIns connectedApplications calls }`

/** Announcements, appearance and statistics of the site. */
export const messageTools: readonly Tool[] = [
  ...postTools,
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
      'Changes the name, logo, colors or texts of the sign-in and consent pages. Omitted arguments stay ' +
      'unchanged.',
    destroys: true,
  }),
  analytics.find({
    name: 'get_site_analytics',
    title: 'Get statistics of the site',
    description:
      'Returns daily counts for at most 92 days: enrolments, active members, completions, sign-ins, calls.',
    field: 'analytics',
    by: { from: 'DateTime', to: 'DateTime' },
    selection: figures,
  }),
]
