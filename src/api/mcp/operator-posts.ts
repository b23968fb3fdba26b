import { readScope } from '../../directory/scopes/catalogue.ts'
import { operatorChange, operatorFind, operatorList, operatorTool } from './operator.ts'
import type { Tool } from './tool.ts'

const post = 'id topic title body link createdAt updatedAt publishedAt deliveredAt'
const appearance =
  'displayName logoFileId accentColor backgroundColor signInWords consentWords updatedAt'

const postTools = [
  operatorList({
    name: 'list_site_posts',
    title: 'Announcements of the site',
    description: "Lists the announcements of the token's site, the newest first, drafts included.",
    area: 'posts',
    list: 'posts',
    filters: { search: 'String', published: 'Boolean' },
    nodes: post,
  }),
  operatorFind({
    name: 'get_site_post',
    title: 'An announcement of the site',
    description: "Returns one announcement of the token's site.",
    areas: ['posts'],
    field: 'post',
    by: { id: 'ID!' },
    selection: post,
  }),
  operatorChange({
    name: 'create_post',
    title: 'Write an announcement',
    description: 'Writes an announcement that nobody is told yet. publish_post sends it.',
    area: 'posts',
    field: 'createPost',
    takes: { input: 'CreatePostInput!' },
  }),
  operatorChange({
    name: 'update_post',
    title: 'Change an announcement',
    description: 'Changes an announcement that is not published; what is left out stays.',
    area: 'posts',
    field: 'updatePost',
    takes: { input: 'UpdatePostInput!' },
    destroys: true,
  }),
  operatorChange({
    name: 'publish_post',
    title: 'Send an announcement',
    description:
      'Puts an announcement into the inbox of every member who subscribes to its topic. It cannot be ' +
      'unsent.',
    area: 'posts',
    field: 'publishPost',
    takes: { id: 'ID!' },
    destroys: true,
  }),
  operatorChange({
    name: 'delete_post',
    title: 'Remove an announcement',
    description: 'Removes an announcement, and the notifications that came of it.',
    area: 'posts',
    field: 'deletePost',
    takes: { id: 'ID!' },
    selection: 'deletedId',
    destroys: true,
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
    document: `query { appearance { ${appearance} } }`,
    pick: ['appearance'],
  }),
  operatorChange({
    name: 'update_appearance',
    title: 'Change how the site looks',
    description:
      'Changes name, logo, colours or words of the pages on which people sign in and consent; what is left ' +
      'out stays.',
    area: 'appearance',
    field: 'updateAppearance',
    takes: { input: 'UpdateAppearanceInput!' },
    destroys: true,
  }),
  operatorFind({
    name: 'get_site_analytics',
    title: 'Figures of the site',
    description:
      'Counts by day, at most 92 days: enrolments, active members, completions, sign-ins, calls.',
    areas: ['analytics'],
    field: 'analytics',
    by: { from: 'DateTime', to: 'DateTime' },
    selection: figures,
  }),
]
