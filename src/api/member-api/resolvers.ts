import type { Cursors } from '../../platform/store/cursor.ts'
import type { MemberData } from '../../school/member/member-data.ts'
import type { Notification, NotificationSubscription } from '../../school/member/notifications.ts'
import type { Membership, PagedList, Question } from '../../school/member/paged-list.ts'
import type {
  BoughtDigitalProduct,
  EnrolledCourse,
  EventRegistration,
  PurchaseLists,
  WatchedLecture,
} from '../../school/member/purchases.ts'
import { knownTopicOf } from '../../school/member/topics.ts'
import { notFound } from '../graphql/errors.ts'
import { answerList } from '../graphql/list-answer.ts'
import { isPossibleId, type PageArguments } from '../graphql/page-arguments.ts'

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
  readonly progressPercent: (courseId: string) => Promise<number | undefined>
}

type Resolver<Source, Arguments = object> = (
  source: Source,
  args: Arguments,
  context: MemberContext,
) => unknown

interface NotificationArguments extends PageArguments {
  readonly unreadOnly?: boolean | null
  readonly topic?: string | null
}

interface SubscriptionArguments {
  readonly id: string
  readonly enabled: boolean
}

const query = {
  viewer: (_source, _args, { caller }) => caller,
  node: async (_source, { id }: { id: string }, context) =>
    isPossibleId(id) ? ((await findNode(id, context)) ?? null) : null,
  notifications: async (_source, { topic, ...args }: NotificationArguments, context) =>
    await memberList({
      list: context.data.notifications,
      name: 'notifications',
      // PostgreSQL keeps no NUL, and fails on one where it should find nothing.
      args: { ...args, topic: topic?.replaceAll('\0', '\ufffd') ?? null },
      context,
    }),
  unreadNotificationCount: (_source, _args, { data, caller }) => countUnread(data, caller),
  notificationSubscriptions: (_source, _args, { data, caller }) => data.listSubscriptions(caller),
} satisfies Record<string, Resolver<undefined, never>>

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

const purchases =
  (name: keyof PurchaseLists): Resolver<MemberCaller, PageArguments & Question> =>
  (_source, args, context) =>
    memberList<object, Question>({ list: context.data[name], name, args, context })

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
  progressPercent: async ({ courseId }, _args, { progressPercent }) =>
    (await progressPercent(courseId)) ?? 0,
} satisfies Record<string, Resolver<EnrolledCourse>>

/** GraphQL §3.5.1: an Int has 32 bits. */
const INT_MAX = 2 ** 31 - 1

const digitalProduct = {
  downloadUrl: (product, _args, { downloadAddress }) => addressOf(product, downloadAddress) ?? null,
  files: (product, _args, { downloadAddress }) => {
    const { fileName: name, mediaType, sizeBytes } = product
    const downloadUrl = addressOf(product, downloadAddress)
    if (downloadUrl === undefined) return []
    return [
      { name, mediaType, sizeBytes: Number(sizeBytes) > INT_MAX ? null : sizeBytes, downloadUrl },
    ]
  },
} satisfies Record<string, Resolver<BoughtDigitalProduct>>

function addressOf(
  { id: purchaseId, fileId, fileName }: BoughtDigitalProduct,
  downloadAddress: DownloadAddress,
): string | undefined {
  return fileId === null ? undefined : downloadAddress({ purchaseId, fileId, fileName })
}

const eventRegistration = {
  joinUrl: ({ joinUrl, cancelledAt }) => (cancelledAt === null ? joinUrl : null),
} satisfies Record<string, Resolver<EventRegistration>>

const notification = {
  knownTopic: ({ topic }) => knownTopicOf(topic) ?? null,
} satisfies Record<string, Resolver<Notification>>

const notificationSubscription = {
  knownTopic: ({ topic }) => knownTopicOf(topic) ?? null,
  channel: ({ channel }) => channel.toUpperCase(),
  enabled: ({ enabledAt }) => enabledAt !== null,
} satisfies Record<string, Resolver<NotificationSubscription>>

/** Counted when the rest of the payload was done, and only when it is asked for. */
const afterChange = {
  unreadNotificationCount: (_source, _args, { data, caller }) => countUnread(data, caller),
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
  EventRegistration: eventRegistration,
  Notification: notification,
  NotificationSubscription: notificationSubscription,
  MarkNotificationReadPayload: afterChange,
  MarkAllNotificationsReadPayload: afterChange,
}

interface MemberListQuestion<Row, Asked extends Question> {
  readonly list: PagedList<Row, Asked>
  /** The name of the list, to which its cursors are bound. */
  readonly name: string
  readonly args: PageArguments & Asked
  readonly context: MemberContext
}

/** A cursor is a place in one sequence: it is bound to the sort, and good with any filter. */
async function memberList<Row, Asked extends Question>({
  list,
  name,
  args,
  context,
}: MemberListQuestion<Row, Asked>) {
  const { caller, cursors } = context
  const { first, after, ...asked } = args
  // What is left of the arguments is what the list is asked.
  const question = asked as unknown as Asked
  return await answerList({
    list: {
      page: async (request) => await list.page(caller, question, request),
      count: async () => await list.count(caller, question),
    },
    args: { first: first ?? null, after: after ?? null },
    cursors,
    scope: [caller.personId, caller.siteId, name, args.sort ?? ''],
  })
}

function countUnread(data: MemberData, caller: MemberCaller): Promise<number> {
  return data.notifications.count(caller, { unreadOnly: true })
}

/** What the viewer sees under an id, with the name of its type, by which graphql-js knows it. */
async function findNode(id: string, { caller, data }: MemberContext): Promise<object | undefined> {
  if (id === caller.personId) return { ...caller, __typename: 'Viewer' }
  const schools = await data.listSites(caller.personId)
  const school = schools.find((site) => site.id === id)
  if (school) return { ...school, __typename: 'School' }
  const found = await data.findNode(caller, id)
  return found && { ...found.row, __typename: found.type }
}
