import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { type Membership, pagedList, type RowOf } from './paged-list.ts'

/**
 * A member's inbox at one site. Every change can be repeated, in parallel too: each is one statement
 * that names the person and the site, keeps the first time it finds, and so has nothing to undo.
 */

/** Far more than the topics of a site; it only keeps an answer bounded. */
const SUBSCRIPTIONS_MAX = 500

/** The list of an inbox, and every change that its owner can make. */
export function inboxData(database: Database, now: () => number) {
  return {
    notifications: listOf(database),
    ...changesOf(database, now),
    async listSubscriptions({ personId, siteId }: Membership) {
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
    /** Nothing when the person has no such subscription at the site. */
    async findSubscription({ personId, siteId }: Membership, id: string) {
      return await database.kysely
        .selectFrom('notification_subscription')
        .select(subscriptionColumns)
        .where('id', '=', id)
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .executeTakeFirst()
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

interface NotificationFilter {
  readonly unreadOnly?: boolean | null
  readonly topic?: string | null
}

function listOf({ kysely }: Database) {
  return pagedList(
    ({ personId, siteId }: Membership, { unreadOnly, topic }: NotificationFilter) =>
      kysely
        .selectFrom('notification')
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .$if(unreadOnly === true, (query) => query.where('read_at', 'is', null))
        .$if(topic != null, (query) => query.where('topic', '=', topic ?? ''))
        .select(notificationColumns),
    {
      orders: {
        NEWEST: {
          by: 'created_at',
          id: 'id',
          direction: 'desc',
          placeOf: ({ createdAt, id }) => [createdAt, id],
        },
      },
      sortedBy: 'NEWEST',
    },
  )
}

function changesOf({ kysely }: Database, now: () => number) {
  return {
    /** Nothing when the inbox holds no such notification, whoever else's may. */
    async markRead({ personId, siteId }: Membership, id: string) {
      return await kysely
        .updateTable('notification')
        .set({ read_at: sql<number>`coalesce(read_at, ${now()})` })
        .where('id', '=', id)
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .returning(notificationColumns)
        .executeTakeFirst()
    },
    /** How many were unread. */
    async markAllRead({ personId, siteId }: Membership) {
      const { numUpdatedRows } = await kysely
        .updateTable('notification')
        .set({ read_at: now() })
        .where('person_id', '=', personId)
        .where('site_id', '=', siteId)
        .where('read_at', 'is', null)
        .executeTakeFirstOrThrow()
      return Number(numUpdatedRows)
    },
    /** Nothing when the person has no such subscription at the site. */
    async updateSubscription(
      { personId, siteId }: Membership,
      { id, enabled }: { readonly id: string; readonly enabled: boolean },
    ) {
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
}

type InboxData = ReturnType<typeof inboxData>
export type Notification = RowOf<InboxData['notifications']>
export type NotificationSubscription = Awaited<ReturnType<InboxData['listSubscriptions']>>[number]
