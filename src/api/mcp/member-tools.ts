import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import { once } from '../graphql/once.ts'
import { memberCaller } from '../member-api/endpoint.ts'
import { makeMemberSchema } from '../member-api/member-api.ts'
import { type DocumentDefinition, makeDocumentTool, pageSelection } from './document-tool.ts'
import { signedInCaller, type Tool, ToolProblem } from './tool.ts'

const documentTool = makeDocumentTool({
  schema: once(makeMemberSchema),
  async execute(call, document, variables) {
    const caller = memberCaller(signedInCaller(call))
    if (!caller) {
      throw new ToolProblem(
        'This token does not give access to any site. Call sign_in with as: "member".',
      )
    }
    return await call.parts.executeMember(document, variables, caller)
  },
})

/** Creates a tool for the signed-in member's own data. It runs one fixed document of the Member API (design 23). */
function memberTool(definition: Omit<DocumentDefinition, 'scopes'>): Tool {
  const changes = definition.effect !== undefined
  return documentTool({ ...definition, scopes: [MEMBER_READ, ...(changes ? [MEMBER_WRITE] : [])] })
}

const notification = 'id topic title body link createdAt readAt'
const subscription = 'id topic channel enabled'

export const memberTools: readonly Tool[] = [
  memberTool({
    name: 'get_viewer',
    title: 'Get the signed-in member',
    description:
      'Returns the id, name and e-mail address of the person who signed in, and all sites where they have ' +
      'a role.',
    path: ['viewer'],
    selection: 'id name email schools { id slug name roles }',
  }),
  memberTool({
    name: 'list_purchases',
    title: 'My purchases',
    description:
      'Lists the latest 20 purchases of each kind at once: courses with expireDate, digital products, ' +
      'consultations, and event registrations. For more, or for details, use the tool for one kind.',
    path: ['viewer'],
    selection: `enrolledCourses { nodes { id slug title expireDate hasLifetimeAccess progressPercent } totalCount }
      digitalProducts { nodes { id slug title purchasedAt } totalCount }
      consultingServices { nodes { id slug title scheduledAt } totalCount }
      eventRegistrations { nodes { id slug title startsAt endsAt cancelledAt } totalCount }`,
  }),
  memberTool({
    name: 'list_enrolled_courses',
    title: 'My courses',
    description:
      'Lists the courses in which the signed-in member is or was enrolled, with the date on which access ends and ' +
      'how much the member has watched. For the courses whose access ends next, use access: ACTIVE with sort: ' +
      'EXPIRE_DATE.',
    path: ['viewer', 'enrolledCourses'],
    selection:
      pageSelection(`id slug title summary url purchasedAt expireDate hasLifetimeAccess progressPercent
    lastWatchedLecture { lectureId title positionSeconds durationSeconds watchedAt }`),
  }),
  memberTool({
    name: 'list_digital_products',
    title: 'My digital products',
    description:
      'Lists the digital products that the signed-in member bought, with download URLs that are valid for ' +
      'a limited time.',
    path: ['viewer', 'digitalProducts'],
    selection: pageSelection('id slug title summary fileName downloadUrl purchasedAt'),
  }),
  memberTool({
    name: 'list_consulting_services',
    title: 'My consultations',
    description:
      'Lists the consultations that the signed-in member bought, with duration and agreed time.',
    path: ['viewer', 'consultingServices'],
    selection: pageSelection('id slug title summary durationMinutes purchasedAt scheduledAt'),
  }),
  memberTool({
    name: 'list_event_registrations',
    title: 'My events',
    description:
      'Lists the events that the signed-in member registered for, with venue and URL. For the next ' +
      'events, use when: UPCOMING with sort: START.',
    path: ['viewer', 'eventRegistrations'],
    selection: pageSelection(
      'id slug title summary location joinUrl startsAt endsAt registeredAt cancelledAt',
    ),
  }),
  memberTool({
    name: 'list_notifications',
    title: 'My notifications',
    description: "Lists the signed-in member's notifications, newest first.",
    path: ['notifications'],
    selection: pageSelection(notification),
  }),
  memberTool({
    name: 'get_unread_notification_count',
    title: 'Count unread notifications',
    description: "Returns the number of the signed-in member's unread notifications.",
    path: [],
    selection: 'unreadNotificationCount',
  }),
  memberTool({
    name: 'list_notification_subscriptions',
    title: 'My notification settings',
    description:
      "Lists the topics and channels of the signed-in member's notifications. " +
      'Pass an id to update_notification_subscription to turn a subscription on or off.',
    path: [],
    selection: `notificationSubscriptions { ${subscription} }`,
  }),
  memberTool({
    name: 'mark_notification_read',
    listedBy: 'list_notifications',
    title: 'Mark a notification as read',
    description:
      "Marks one of the signed-in member's notifications as read. Takes an id from list_notifications. " +
      'Repeating the call changes nothing.',
    effect: 'changes',
    path: ['markNotificationRead'],
    selection: `notification { ${notification} } unreadNotificationCount`,
  }),
  memberTool({
    name: 'mark_all_notifications_read',
    title: 'Mark all notifications as read',
    description: "Marks all of the signed-in member's notifications as read.",
    effect: 'changes',
    path: ['markAllNotificationsRead'],
    selection: 'markedCount unreadNotificationCount',
  }),
  memberTool({
    name: 'update_notification_subscription',
    listedBy: 'list_notification_subscriptions',
    title: 'Turn notifications on or off',
    description:
      "Turns one of the signed-in member's notification subscriptions on or off. Takes an id from " +
      'list_notification_subscriptions.',
    effect: 'changes',
    path: ['updateNotificationSubscription'],
    selection: `notificationSubscription { ${subscription} }`,
  }),
]
