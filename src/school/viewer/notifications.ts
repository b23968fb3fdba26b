import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { orderBy } from '../../platform/store/keyset.ts'
import { type Membership, pagedList, type RowOf } from './paged-list.ts'

/**
 * Reads and changes a member's inbox and subscriptions at one site. Each change is one statement. A repeated change
 * keeps the first timestamp, so changes are idempotent, even in parallel.
 */

/** The standard topics of all sites. Announcements of a site may have other topics. */
export const knownTopics = [
  'access',
  'announcements',
  'consulting',
  'course_updates',
  'event_reminders',
  'replies',
] as const

/** The maximum number of subscriptions in a response, far more than a person usually has. */
const SUBSCRIPTIONS_MAX = 500

export function inboxData({ kysely }: Database, now: () => number) {
  const subscriptions = (membership: Membership) =>
    kysely
      .selectFrom('notification_subscription')
      .select(subscriptionColumns)
      .where(isOf(membership))
  return {
    notifications: pagedList(
      (membership: Membership, { unreadOnly, topic }: NotificationFilter) =>
        kysely
          .selectFrom('notification')
          .where(isOf(membership))
          .$if(unreadOnly === true, (query) => query.where('read_at', 'is', null))
          .$if(topic != null, (query) => query.where('topic', '=', topic ?? ''))
          .select(notificationColumns),
      { NEWEST: orderBy('createdAt', 'desc', 'created_at') },
      'NEWEST',
    ),
    /** Marks a notification as read. @returns the notification; undefined if the inbox does not contain it */
    async markRead(membership: Membership, id: string) {
      return await kysely
        .updateTable('notification')
        .set({ read_at: sql<number>`coalesce(read_at, ${now()})` })
        .where('id', '=', id)
        .where(isOf(membership))
        .returning(notificationColumns)
        .executeTakeFirst()
    },
    /** Marks all notifications as read. @returns the number of notifications that were unread */
    async markAllRead(membership: Membership) {
      const { numUpdatedRows } = await kysely
        .updateTable('notification')
        .set({ read_at: now() })
        .where(isOf(membership))
        .where('read_at', 'is', null)
        .executeTakeFirstOrThrow()
      return Number(numUpdatedRows)
    },
    listSubscriptions: async (membership: Membership) =>
      await subscriptions(membership)
        .orderBy('topic')
        .orderBy('channel')
        .limit(SUBSCRIPTIONS_MAX)
        .execute(),
    findSubscription: async (membership: Membership, id: string) =>
      await subscriptions(membership).where('id', '=', id).executeTakeFirst(),
    async updateSubscription(
      membership: Membership,
      { id, enabled }: { readonly id: string; readonly enabled: boolean },
    ) {
      return await kysely
        .updateTable('notification_subscription')
        .set({ enabled_at: enabled ? sql<number>`coalesce(enabled_at, ${now()})` : null })
        .where('id', '=', id)
        .where(isOf(membership))
        .returning(subscriptionColumns)
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

export interface NotificationFilter {
  readonly unreadOnly?: boolean | null
  readonly topic?: string | null
}

function isOf({ personId, siteId }: Membership) {
  return sql<boolean>`person_id = ${personId} and site_id = ${siteId}`
}

type InboxData = ReturnType<typeof inboxData>
export type Notification = RowOf<InboxData['notifications']>
export type NotificationSubscription = Awaited<ReturnType<InboxData['listSubscriptions']>>[number]
