import { GraphQLError } from 'graphql'

import {
  knownTopics,
  type Notification,
  type NotificationFilter,
  type NotificationSubscription,
} from '../../school/viewer/notifications.ts'
import type { Membership, PagedList, Question } from '../../school/viewer/paged-list.ts'
import type {
  BoughtDigitalProduct,
  EnrolledCourse,
  EventRegistration,
  PurchaseLists,
} from '../../school/viewer/purchases.ts'
import type { ViewerData } from '../../school/viewer/viewer-data.ts'
import type { OneOfMany } from '../graphql/batch-loader.ts'
import { answerList, type PageArguments } from '../graphql/connections.ts'
import type { EndpointPorts } from '../graphql/endpoint.ts'

/** The person and the site of a request. */
export interface MemberCaller extends Membership {
  readonly name: string
  readonly email: string
}

/** Creates a URL to download the file of a purchase, valid for a limited time. */
export type DownloadAddress = (bought: {
  readonly purchaseId: string
  readonly fileId: string
  readonly fileName: string
}) => string

/** Dependencies of the resolvers. */
export interface MemberParts {
  readonly data: ViewerData
  readonly cursors: EndpointPorts['cursors']
  readonly downloadAddress: DownloadAddress
}

export interface MemberContext extends MemberParts {
  readonly caller: MemberCaller
  readonly oneOfMany: OneOfMany
}

type Resolver<Source, Arguments = object> = (
  source: Source,
  args: Arguments,
  context: MemberContext,
) => unknown

type NotificationArguments = PageArguments & NotificationFilter
type SubscriptionArguments = Parameters<ViewerData['updateSubscription']>[1]

/** The number of unread notifications after a change; counted only if selected. */
const afterChange = {
  unreadNotificationCount: (_source, _args, { data, caller }) => countUnread(data, caller),
} satisfies Record<string, Resolver<{ readonly notification?: Notification }>>

/** Resolvers of `schema.graphql`. They need no access checks: they select by caller, or by ids of the caller's rows. */
export const resolvers = {
  Query: {
    viewer: (_source, _args, { caller }) => caller,
    node: async (_source, { id }: { id: string }, context) =>
      (isPossibleId(id) ? await findNode(id, context) : undefined) ?? null,
    notifications: async (_source, { topic, ...args }: NotificationArguments, context) =>
      await memberList(
        'notifications',
        context.data.notifications,
        // Replace NUL, because PostgreSQL raises an error on it instead of matching no row.
        { ...args, topic: topic?.replaceAll('\0', '\ufffd') ?? null },
        context,
      ),
    unreadNotificationCount: (_source, _args, { data, caller }) => countUnread(data, caller),
    notificationSubscriptions: (_source, _args, { data, caller }) => data.listSubscriptions(caller),
  } satisfies Record<string, Resolver<undefined, never>>,
  Mutation: {
    markNotificationRead: async (_source, { id }: { id: string }, { data, caller }) => ({
      notification: await mustFind('notification', id, () => data.markRead(caller, id)),
    }),
    markAllNotificationsRead: async (_source, _args, { data, caller }) => ({
      markedCount: await data.markAllRead(caller),
    }),
    updateNotificationSubscription: async (_source, change: SubscriptionArguments, context) => {
      const update = () => context.data.updateSubscription(context.caller, change)
      return {
        notificationSubscription: await mustFind('notification subscription', change.id, update),
      }
    },
  } satisfies Record<string, Resolver<undefined, never>>,
  Viewer: {
    id: ({ personId }) => personId,
    schools: ({ personId }, _args, { data }) => data.listSites(personId),
    enrolledCourses: purchases('enrolledCourses'),
    digitalProducts: purchases('digitalProducts'),
    consultingServices: purchases('consultingServices'),
    eventRegistrations: purchases('eventRegistrations'),
  } satisfies Record<string, Resolver<MemberCaller>>,
  EnrolledCourse: {
    expireDate: ({ expiresAt }) => expiresAt,
    hasLifetimeAccess: ({ expiresAt }) => expiresAt === null,
    lastWatchedLecture: async ({ id }, _args, { oneOfMany, data }) => {
      const progress = await oneOfMany('progress', data.findProgress, id)
      return progress?.lectureId ? progress : null
    },
    progressPercent: async ({ id }, _args, { oneOfMany, data }) => {
      const progress = await oneOfMany('progress', data.findProgress, id)
      if (!progress?.lectureCount) return 0
      return Math.floor((100 * progress.completedLectureCount) / progress.lectureCount)
    },
  } satisfies Record<string, Resolver<EnrolledCourse>>,
  DigitalProduct: {
    downloadUrl: (product, _args, { downloadAddress }) => productAddress(product, downloadAddress),
    files: (product, _args, { downloadAddress }) => {
      const { fileName: name, mediaType, sizeBytes } = product
      const downloadUrl = productAddress(product, downloadAddress)
      if (downloadUrl === null) return []
      const fits = Number(sizeBytes) <= INT_MAX
      return [{ name, mediaType, sizeBytes: fits ? sizeBytes : null, downloadUrl }]
    },
  } satisfies Record<string, Resolver<BoughtDigitalProduct>>,
  EventRegistration: {
    joinUrl: ({ joinUrl, cancelledAt }) => (cancelledAt === null ? joinUrl : null),
  } satisfies Record<string, Resolver<EventRegistration>>,
  Notification: { knownTopic },
  NotificationSubscription: {
    knownTopic,
    channel: ({ channel }) => channel.toUpperCase(),
    enabled: ({ enabledAt }) => enabledAt !== null,
  } satisfies Record<string, Resolver<NotificationSubscription>>,
  MarkNotificationReadPayload: afterChange,
  MarkAllNotificationsReadPayload: afterChange,
}

function purchases(name: keyof PurchaseLists): Resolver<MemberCaller, PageArguments & Question> {
  return (_source, args, context) =>
    memberList<object, Question>(name, context.data[name], args, context)
}

function knownTopic({ topic }: Pick<Notification, 'topic'>) {
  return knownTopics.find((known) => known === topic) ?? null
}

/** The maximum of an Int, which has 32 bits (GraphQL §3.5.1). */
const INT_MAX = 2 ** 31 - 1

function productAddress(
  { id: purchaseId, fileId, fileName }: BoughtDigitalProduct,
  downloadAddress: DownloadAddress,
): string | null {
  return fileId === null ? null : downloadAddress({ purchaseId, fileId, fileName })
}

const ID_LENGTH_MAX = 200

/** Whether an id can exist. PostgreSQL raises an error on NUL instead of matching no row. */
function isPossibleId(id: string): boolean {
  return id.length <= ID_LENGTH_MAX && !id.includes('\0')
}

/** Finds a row of the caller. @throws GraphQLError `NOT_FOUND` if the caller has no such row */
async function mustFind<Row>(what: string, id: string, find: () => Promise<Row | undefined>) {
  const row = isPossibleId(id) ? await find() : undefined
  if (row) return row
  throw new GraphQLError(`there is no ${what} with this id`, { extensions: { code: 'NOT_FOUND' } })
}

/** Resolves a list for the caller. Cursors are bound to person, site, list and sort order, but not to the filter. */
async function memberList<Row, Asked extends Question>(
  name: string,
  list: PagedList<Row, Asked>,
  args: PageArguments & Asked,
  { caller, cursors }: MemberContext,
) {
  const scope = [caller.personId, caller.siteId, name, args.sort ?? '']
  return await answerList(list.rows(caller, args), args, cursors, scope)
}

function countUnread(data: ViewerData, caller: MemberCaller): Promise<number> {
  return data.notifications.rows(caller, { unreadOnly: true }).count()
}

/** Finds an object that the viewer may see, by id. graphql-js needs its `__typename`. */
async function findNode(id: string, { caller, data }: MemberContext): Promise<object | undefined> {
  if (id === caller.personId) return { ...caller, __typename: 'Viewer' }
  const schools = await data.listSites(caller.personId)
  const school = schools.find((site) => site.id === id)
  if (school) return { ...school, __typename: 'School' }
  const found = await data.findNode(caller, id)
  return found && { ...found.row, __typename: found.type }
}
