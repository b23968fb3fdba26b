import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { inboxData } from './notifications.ts'
import type { Membership } from './paged-list.ts'
import type { PurchaseLists } from './purchases.ts'

type Lists = PurchaseLists &
  Pick<ReturnType<typeof inboxData>, 'notifications' | 'findSubscription'>

/** Something with an id of its own: what it is, and its row as its list has it. */
export interface FoundNode {
  readonly type: NodeType
  readonly row: object
}

/** What a member has under an id, by the name of its type in the schema, and where. */
const tables = {
  EnrolledCourse: 'course_purchase',
  DigitalProduct: 'digital_product_purchase',
  ConsultingService: 'consulting_service_purchase',
  EventRegistration: 'event_registration',
  Notification: 'notification',
  NotificationSubscription: 'notification_subscription',
} as const

type NodeType = keyof typeof tables

/**
 * Finds whatever a member has under an id at the site of the token, and nothing of anybody else's.
 * Two statements: one for what it is, one for the row. Ids of purchases have one prefix for three tables;
 * an import refuses one that two of them would have.
 */
export function makeFindNode({ kysely }: Database, lists: Lists) {
  const findRow: Readonly<
    Record<NodeType, (membership: Membership, id: string) => Promise<object | undefined>>
  > = {
    EnrolledCourse: lists.enrolledCourses.find,
    DigitalProduct: lists.digitalProducts.find,
    ConsultingService: lists.consultingServices.find,
    EventRegistration: lists.eventRegistrations.find,
    Notification: lists.notifications.find,
    NotificationSubscription: lists.findSubscription,
  }
  return async (membership: Membership, id: string): Promise<FoundNode | undefined> => {
    const owned = Object.entries(tables).map(
      ([type, table]) => sql`select ${sql.lit(type)} as type from ${sql.table(table)}
        where id = ${id} and person_id = ${membership.personId}`,
    )
    const { rows } = await sql<{ type: NodeType }>`${sql.join(owned, sql` union all `)}`.execute(
      kysely,
    )
    for (const { type } of rows) {
      const row = await findRow[type](membership, id)
      if (row) return { type, row }
    }
    return undefined
  }
}
