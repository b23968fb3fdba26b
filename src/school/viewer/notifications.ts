import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { type Membership, pagedList, type RowOf } from './paged-list.ts'

/**
 * A member's inbox at one site. Every change can be repeated, in parallel too: each is one statement
 * that names the person and the site, keeps the first time it finds, and so has nothing to undo.
 */

/** The topics that platforms send, as they are in data; a site's own announcements may have others. */
export const knownTopics = [
  'access',
  'announcements',
  'consulting',
  'course_updates',
  'event_reminders',
  'replies',
] as const

/** A topic, when it is one of those that are known. */
export function knownTopicOf(topic: string): (typeof knownTopics)[number] | undefined {
  return knownTopics.find((known) => known === topic)
}

/** Far more than the topics of a site; it only keeps an answer bounded. */
const SUBSCRIPTIONS_MAX = 500

/** The list of an inbox, and every change that its owner can make. */
export function inboxData({ kysely }: Database, now: () => number) {
  return {
    notifications: pagedList(
      (membership, { unreadOnly, topic }: NotificationFilter) =>
        kysely
          .selectFrom('notification')
          .where(isOf(membership))
          .$if(unreadOnly === true, (query) => query.where('read_at', 'is', null))
          .$if(topic != null, (query) => query.where('topic', '=', topic ?? ''))
          .select(notificationColumns),
      {
        NEWEST: {
          by: 'created_at',
          id: 'id',
          direction: 'desc',
          placeOf: ({ createdAt, id }) => [createdAt, id],
        },
      },
      'NEWEST',
    ),
    /** Nothing when the inbox holds no such notification, even if another one does. */
    async markRead(membership: Membership, id: string) {
      return await kysely
        .updateTable('notification')
        .set({ read_at: sql<number>`coalesce(read_at, ${now()})` })
        .where('id', '=', id)
        .where(isOf(membership))
        .returning(notificationColumns)
        .executeTakeFirst()
    },
    /** How many were unread. */
    async markAllRead(membership: Membership) {
      const { numUpdatedRows } = await kysely
        .updateTable('notification')
        .set({ read_at: now() })
        .where(isOf(membership))
        .where('read_at', 'is', null)
        .executeTakeFirstOrThrow()
      return Number(numUpdatedRows)
    },
    async listSubscriptions(membership: Membership) {
      return await kysely
        .selectFrom('notification_subscription')
        .select(subscriptionColumns)
        .where(isOf(membership))
        .orderBy('topic')
        .orderBy('channel')
        .limit(SUBSCRIPTIONS_MAX)
        .execute()
    },
    /** Nothing when the person has no such subscription at the site. */
    async findSubscription(membership: Membership, id: string) {
      return await kysely
        .selectFrom('notification_subscription')
        .select(subscriptionColumns)
        .where('id', '=', id)
        .where(isOf(membership))
        .executeTakeFirst()
    },
    /** Nothing when the person has no such subscription at the site. */
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

interface NotificationFilter {
  readonly unreadOnly?: boolean | null
  readonly topic?: string | null
}

function isOf({ personId, siteId }: Membership) {
  return sql<boolean>`person_id = ${personId} and site_id = ${siteId}`
}

type InboxData = ReturnType<typeof inboxData>
export type Notification = RowOf<InboxData['notifications']>
export type NotificationSubscription = Awaited<ReturnType<InboxData['listSubscriptions']>>[number]
