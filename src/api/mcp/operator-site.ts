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

/** The site itself, and what was sold. */
export const siteTools: readonly Tool[] = [
  operatorTool({
    name: 'get_site',
    title: 'The site',
    description: "Returns name and settings of the token's site.",
    scopes: [readScope('school')],
    document: `query { site { ${site} } }`,
    pick: ['site'],
  }),
  school.change({
    name: 'update_site',
    title: 'Change the site',
    description: "Changes name and settings of the token's site; what is left out stays.",
    destroys: true,
  }),
  orders.list({
    name: 'list_site_orders',
    title: 'Orders of the site',
    description: "Lists the orders of the token's site, the latest first, with what was bought.",
    list: 'orders',
    filters: { personId: 'ID', from: 'DateTime', until: 'DateTime', sort: 'TimeOrder' },
    nodes: order,
  }),
  orders.find({
    name: 'get_site_order',
    title: 'An order of the site',
    description: "Returns one order of the token's site, by its id or its number.",
    field: 'order',
    by: { id: 'ID', number: 'String' },
    selection: order,
  }),
]

const post = 'id topic title body link createdAt updatedAt publishedAt deliveredAt'
const shownAppearance =
  'displayName logoFileId accentColor backgroundColor signInWords consentWords updatedAt'

const postTools = [
  posts.list({
    name: 'list_site_posts',
    title: 'Announcements of the site',
    description: "Lists the announcements of the token's site, the newest first, drafts included.",
    list: 'posts',
    filters: { search: 'String', published: 'Boolean' },
    nodes: post,
  }),
  posts.find({
    name: 'get_site_post',
    title: 'An announcement of the site',
    description: "Returns one announcement of the token's site.",
    field: 'post',
    by: { id: 'ID!' },
    selection: post,
  }),
  posts.change({
    name: 'create_post',
    title: 'Write an announcement',
    description: 'Writes an announcement that nobody is told yet. publish_post sends it.',
  }),
  posts.change({
    name: 'update_post',
    title: 'Change an announcement',
    description: 'Changes an announcement that is not published; what is left out stays.',
    destroys: true,
  }),
  posts.change({
    name: 'publish_post',
    title: 'Send an announcement',
    description:
      'Puts an announcement into the inbox of every member who subscribes to its topic. It cannot be ' +
      'unsent.',
    takes: { id: 'ID!' },
    destroys: true,
  }),
  posts.change({
    name: 'delete_post',
    title: 'Remove an announcement',
    description: 'Removes an announcement, and the notifications that came of it.',
    ...removal,
  }),
]

const figures = `from until
  days { date enrolments activeMembers completedCourses signIns connectedApplications calls }`

/** What the site says, how it looks, and how it goes. */
export const voiceTools: readonly Tool[] = [
  ...postTools,
  operatorTool({
    name: 'get_site_appearance',
    title: 'How the site looks',
    description:
      'Returns name, logo, colours and words of the pages on which people sign in and consent.',
    scopes: [readScope('appearance')],
    document: `query { appearance { ${shownAppearance} } }`,
    pick: ['appearance'],
  }),
  appearance.change({
    name: 'update_appearance',
    title: 'Change how the site looks',
    description:
      'Changes name, logo, colours or words of the pages on which people sign in and consent; what is left ' +
      'out stays.',
    destroys: true,
  }),
  analytics.find({
    name: 'get_site_analytics',
    title: 'Figures of the site',
    description:
      'Counts by day, at most 92 days: enrolments, active members, completions, sign-ins, calls.',
    field: 'analytics',
    by: { from: 'DateTime', to: 'DateTime' },
    selection: figures,
  }),
]
