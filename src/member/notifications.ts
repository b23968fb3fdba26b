import { sql } from 'kysely'

import type { Database } from '../store/database.ts'
import type { NotificationChannel } from '../store/schema.ts'
import { type Membership, type PagedList, pagedList } from './paged-list.ts'

/**
 * A member's inbox at one site. Every change can be repeated, in parallel too: each is one statement
 * that names the person and the site, keeps the first time it finds, and so has nothing to undo.
 */

export interface Notification {
  readonly id: string
  readonly topic: string
  readonly title: string
  readonly body: string
  readonly link: string | null
  readonly createdAt: number
  readonly readAt: number | null
}

export interface NotificationSubscription {
  readonly id: string
  readonly topic: string
  readonly channel: NotificationChannel
  readonly enabledAt: number | null
}

export interface SubscriptionChange {
  readonly id: string
  readonly enabled: boolean
}

export interface InboxData {
  readonly notifications: PagedList<Notification>
  readonly unreadNotifications: PagedList<Notification>
  listSubscriptions(membership: Membership): Promise<NotificationSubscription[]>
  /** Nothing when the inbox holds no such notification, whoever else's may. */
  markRead(membership: Membership, id: string): Promise<Notification | undefined>
  /** How many were unread. */
  markAllRead(membership: Membership): Promise<number>
  /** Nothing when the person has no such subscription at the site. */
  updateSubscription(
    membership: Membership,
    change: SubscriptionChange,
  ): Promise<NotificationSubscription | undefined>
}

/** Far more than the topics of a site; it only keeps an answer bounded. */
const SUBSCRIPTIONS_MAX = 500

export function inboxData(database: Database, now: () => number): InboxData {
  return {
    notifications: listOf(database, { unreadOnly: false }),
    unreadNotifications: listOf(database, { unreadOnly: true }),
    ...changesOf(database, now),
    async listSubscriptions({ personId, siteId }) {
      return await database.kysely
        .selectFrom('notification_subscription')
        .select(subscriptionColumns)
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .orderBy('topic')
        .orderBy('channel')
        .limit(SUBSCRIPTIONS_MAX)
        .execute()
    },
  }
}

const notificationColumns = [
  'id',
  'topic',
  'title',
  'body',
  'link',
  'created_at as createdAt',
  'read_at as readAt',
] as const

const subscriptionColumns = ['id', 'topic', 'channel', 'enabled_at as enabledAt'] as const

function listOf(
  { kysely }: Database,
  { unreadOnly }: { unreadOnly: boolean },
): PagedList<Notification> {
  return pagedList(
    ({ personId, siteId }) =>
      kysely
        .selectFrom('notification')
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .$if(unreadOnly, (query) => query.where('read_at', 'is', null))
        .select(notificationColumns),
    {
      by: 'created_at',
      id: 'id',
      direction: 'desc',
      placeOf: ({ createdAt, id }) => [createdAt, id],
    },
  )
}

function changesOf({ kysely }: Database, now: () => number) {
  const changes: Pick<InboxData, 'markRead' | 'markAllRead' | 'updateSubscription'> = {
    async markRead({ personId, siteId }, id) {
      return await kysely
        .updateTable('notification')
        .set({ read_at: sql<number>`coalesce(read_at, ${now()})` })
        .where('id', '=', id)
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .returning(notificationColumns)
        .executeTakeFirst()
    },
    async markAllRead({ personId, siteId }) {
      const { numUpdatedRows } = await kysely
        .updateTable('notification')
        .set({ read_at: now() })
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .where('read_at', 'is', null)
        .executeTakeFirstOrThrow()
      return Number(numUpdatedRows)
    },
    async updateSubscription({ personId, siteId }, { id, enabled }) {
      return await kysely
        .updateTable('notification_subscription')
        .set({ enabled_at: enabled ? sql<number>`coalesce(enabled_at, ${now()})` : null })
        .where('id', '=', id)
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .returning(subscriptionColumns)
        .executeTakeFirst()
    },
  }
  return changes
}
