import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import { makeMemberSchema, memberCaller } from '../member-api/member-api.ts'
import { declared, makeDocumentTool, passed } from './document-tool.ts'
import { callerOf, once, type Tool, ToolProblem } from './tool.ts'

/**
 * The tools over the signed-in member's own data. Each runs one fixed document of the Member API in
 * process, against the same schema: the two surfaces cannot drift (design 23), and what the Member
 * API never shows, a tool cannot show either.
 */

const memberTool = makeDocumentTool({
  schema: once(makeMemberSchema),
  async execute(call, document, variables) {
    const caller = memberCaller(callerOf(call))
    if (!caller)
      throw new ToolProblem('This token is bound to no site. Call sign_in with as: "member".')
    return await call.parts.executeMember(document, variables, caller)
  },
})

const reads = { scopes: [MEMBER_READ] }
const changes = { scopes: [MEMBER_WRITE] }

const page = 'pageInfo { hasNextPage endCursor } totalCount'

interface PurchaseListDefinition extends Pick<Tool, 'name' | 'title' | 'description'> {
  /** The list of the viewer, and what is told of each of its nodes. */
  readonly list: string
  readonly nodes: string
  /** What the list takes besides pages, by the types of the schema. */
  readonly filters: Readonly<Record<string, string>>
}

function purchaseList({ list, nodes, filters, ...described }: PurchaseListDefinition): Tool {
  const all = { first: 'Int', after: 'String', ...filters }
  return memberTool({
    ...reads,
    ...described,
    document: `query (${declared(all)}) { viewer {
      ${list}(${passed(all)}) { nodes { ${nodes} } ${page} }
    } }`,
    pick: ['viewer', list],
  })
}

const notification = 'id topic title body link createdAt readAt'
const subscription = 'id topic channel enabled'

export const memberTools: readonly Tool[] = [
  memberTool({
    ...reads,
    name: 'get_viewer',
    title: 'The signed-in member',
    description:
      'Returns id, name and e-mail address of the person who signed in, and every site at which they ' +
      'hold a role.',
    document: 'query { viewer { id name email schools { id slug name roles } } }',
    pick: ['viewer'],
  }),
  purchaseList({
    name: 'list_enrolled_courses',
    title: 'My courses',
    description:
      `Lists the courses that the signed-in member bought, with when access ends, how much was ` +
      'watched and where they stopped. access: ACTIVE with sort: EXPIRE_DATE shows which end next.',
    list: 'enrolledCourses',
    filters: { sort: 'EnrolledCourseSort', access: 'CourseAccess' },
    nodes: `id slug title summary url purchasedAt expireDate hasLifetimeAccess progressPercent
    lastWatchedLecture { lectureId title positionSeconds durationSeconds watchedAt }`,
  }),
  purchaseList({
    name: 'list_digital_products',
    title: 'My digital products',
    description:
      `Lists the digital products that the signed-in member bought, with where the file of each ` +
      'can be fetched for some minutes.',
    list: 'digitalProducts',
    filters: { sort: 'PurchaseSort' },
    nodes: 'id slug title summary fileName downloadUrl purchasedAt',
  }),
  purchaseList({
    name: 'list_consulting_services',
    title: 'My consultations',
    description: `Lists the consulting services that the signed-in member bought, and when each takes place.`,
    list: 'consultingServices',
    filters: { sort: 'PurchaseSort' },
    nodes: 'id slug title summary durationMinutes purchasedAt scheduledAt',
  }),
  purchaseList({
    name: 'list_event_registrations',
    title: 'My events',
    description:
      `Lists the events that the signed-in member registered for, with place and address to join. ` +
      'when: UPCOMING with sort: START shows which is next.',
    list: 'eventRegistrations',
    filters: { sort: 'EventRegistrationSort', when: 'EventTime', cancelled: 'Boolean' },
    nodes: 'id slug title summary location joinUrl startsAt endsAt registeredAt cancelledAt',
  }),
  memberTool({
    ...reads,
    name: 'list_notifications',
    title: 'My notifications',
    description: `Lists the signed-in member's notifications, the newest first.`,
    document: `query ($first: Int, $after: String, $unreadOnly: Boolean, $topic: String) {
      notifications(first: $first, after: $after, unreadOnly: $unreadOnly, topic: $topic) {
        nodes { ${notification} } ${page}
      }
    }`,
    pick: ['notifications'],
  }),
  memberTool({
    ...reads,
    name: 'get_unread_notification_count',
    title: 'Number of unread notifications',
    description: `Says how many notifications the signed-in member has not read.`,
    document: 'query { unreadNotificationCount }',
    pick: [],
  }),
  memberTool({
    ...reads,
    name: 'list_notification_subscriptions',
    title: 'My notification settings',
    description:
      `Lists about which topics, and by which way, the signed-in member is notified. ` +
      'update_notification_subscription takes the ids.',
    document: `query { notificationSubscriptions { ${subscription} } }`,
    pick: [],
  }),
  memberTool({
    ...changes,
    name: 'mark_notification_read',
    listedBy: 'list_notifications',
    title: 'Mark a notification as read',
    description:
      "Marks one of the signed-in member's notifications, by its id of list_notifications, as read. " +
      'Repeating it changes nothing.',
    document: `mutation ($id: ID!) { markNotificationRead(id: $id) {
      notification { ${notification} } unreadNotificationCount
    } }`,
    pick: ['markNotificationRead'],
  }),
  memberTool({
    ...changes,
    name: 'mark_all_notifications_read',
    title: 'Mark all notifications as read',
    description: `Marks all of the signed-in member's notifications as read.`,
    document: 'mutation { markAllNotificationsRead { markedCount unreadNotificationCount } }',
    pick: ['markAllNotificationsRead'],
  }),
  memberTool({
    ...changes,
    name: 'update_notification_subscription',
    listedBy: 'list_notification_subscriptions',
    title: 'Switch a kind of notification on or off',
    description:
      'Switches one notification subscription of the signed-in member, by its id of ' +
      'list_notification_subscriptions, on or off.',
    document: `mutation ($id: ID!, $enabled: Boolean!) {
      updateNotificationSubscription(id: $id, enabled: $enabled) {
        notificationSubscription { ${subscription} }
      }
    }`,
    pick: ['updateNotificationSubscription'],
  }),
]
