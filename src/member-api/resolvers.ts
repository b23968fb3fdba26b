import { notFound } from '../graphql/errors.ts'
import { answerList } from '../graphql/list-answer.ts'
import { isPossibleId, type PageArguments } from '../graphql/page-arguments.ts'
import type { MemberData } from '../member/member-data.ts'
import type { Notification, NotificationSubscription } from '../member/notifications.ts'
import type { Membership, PagedList } from '../member/paged-list.ts'
import type {
  BoughtDigitalProduct,
  EnrolledCourse,
  PurchaseData,
  WatchedLecture,
} from '../member/purchases.ts'
import type { Cursors } from '../store/cursor.ts'

/** Who asks: the person and the site of the token. */
export interface MemberCaller extends Membership {
  readonly name: string
  readonly email: string
}

/** The address at which the file of a purchase can be fetched for some minutes. */
export type DownloadAddress = (bought: {
  readonly purchaseId: string
  readonly fileId: string
  readonly fileName: string
}) => string

/** What the resolvers of one request share. A type, because graphql-http takes records only. */
export type MemberContext = {
  readonly caller: MemberCaller
  readonly data: MemberData
  readonly cursors: Cursors
  readonly downloadAddress: DownloadAddress
  readonly lastWatched: (courseId: string) => Promise<WatchedLecture | undefined>
}

type Resolver<Source, Arguments = object> = (
  source: Source,
  args: Arguments,
  context: MemberContext,
) => unknown

interface NotificationArguments extends PageArguments {
  readonly unreadOnly?: boolean | null
}

interface SubscriptionArguments {
  readonly id: string
  readonly enabled: boolean
}

const query = {
  viewer: (_source, _args, { caller }) => caller,
  notifications: async (_source, args: NotificationArguments, context) => {
    const { data } = context
    const list = args.unreadOnly ? data.unreadNotifications : data.notifications
    return await memberList({ list, name: 'notifications', args, context })
  },
  unreadNotificationCount: (_source, _args, { data, caller }) =>
    data.unreadNotifications.count(caller),
  notificationSubscriptions: (_source, _args, { data, caller }) => data.listSubscriptions(caller),
} satisfies Record<string, Resolver<undefined>>

const mutation = {
  markNotificationRead: async (_source, { id }: { id: string }, { data, caller }) => {
    const notification = isPossibleId(id) ? await data.markRead(caller, id) : undefined
    if (!notification) throw notFound('notification')
    return { notification }
  },
  markAllNotificationsRead: async (_source, _args, { data, caller }) => ({
    markedCount: await data.markAllRead(caller),
  }),
  updateNotificationSubscription: async (
    _source,
    { id, enabled }: SubscriptionArguments,
    { data, caller },
  ) => {
    const change = { id, enabled }
    const notificationSubscription = isPossibleId(id)
      ? await data.updateSubscription(caller, change)
      : undefined
    if (!notificationSubscription) throw notFound('notification subscription')
    return { notificationSubscription }
  },
} satisfies Record<string, Resolver<undefined, never>>

type PurchaseList = Exclude<keyof PurchaseData, 'findLastWatched'>

const purchases =
  (name: PurchaseList): Resolver<MemberCaller, PageArguments> =>
  (_source, args, context) =>
    memberList<object>({ list: context.data[name], name, args, context })

const viewer = {
  id: ({ personId }) => personId,
  schools: ({ personId }, _args, { data }) => data.listSites(personId),
  enrolledCourses: purchases('enrolledCourses'),
  digitalProducts: purchases('digitalProducts'),
  consultingServices: purchases('consultingServices'),
  eventRegistrations: purchases('eventRegistrations'),
} satisfies Record<string, Resolver<MemberCaller>>

const enrolledCourse = {
  expireDate: ({ expiresAt }) => expiresAt,
  hasLifetimeAccess: ({ expiresAt }) => expiresAt === null,
  lastWatchedLecture: ({ courseId }, _args, { lastWatched }) => lastWatched(courseId),
} satisfies Record<string, Resolver<EnrolledCourse>>

const digitalProduct = {
  downloadUrl: ({ id: purchaseId, fileId, fileName }, _args, { downloadAddress }) =>
    fileId === null ? null : downloadAddress({ purchaseId, fileId, fileName }),
} satisfies Record<string, Resolver<BoughtDigitalProduct>>

const notificationSubscription = {
  channel: ({ channel }) => channel.toUpperCase(),
  enabled: ({ enabledAt }) => enabledAt !== null,
} satisfies Record<string, Resolver<NotificationSubscription>>

/** Counted when the rest of the payload was done, and only when it is asked for. */
const afterChange = {
  unreadNotificationCount: (_source, _args, { data, caller }) =>
    data.unreadNotifications.count(caller),
} satisfies Record<string, Resolver<{ readonly notification?: Notification }>>

/**
 * The fields of `schema.graphql` that are not simply a property of what is above them. Nothing here
 * decides who may ask: the caller is the only person and site that any of them can reach.
 */
export const resolvers = {
  Query: query,
  Mutation: mutation,
  Viewer: viewer,
  EnrolledCourse: enrolledCourse,
  DigitalProduct: digitalProduct,
  NotificationSubscription: notificationSubscription,
  MarkNotificationReadPayload: afterChange,
  MarkAllNotificationsReadPayload: afterChange,
}

interface MemberListQuestion<Row> {
  readonly list: PagedList<Row>
  /** The name of the list, to which its cursors are bound. */
  readonly name: string
  readonly args: PageArguments
  readonly context: MemberContext
}

async function memberList<Row>({ list, name, args, context }: MemberListQuestion<Row>) {
  const { caller, cursors } = context
  return await answerList({
    list: {
      page: async (request) => await list.page(caller, request),
      count: async () => await list.count(caller),
    },
    args,
    cursors,
    scope: [caller.personId, caller.siteId, name],
  })
}
