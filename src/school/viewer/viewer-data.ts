/** Reads and changes a person's own data for the Member API, independently of GraphQL. */

import { sql } from 'kysely'

import { makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import type { Database } from '../../platform/store/database.ts'
import { listProgress } from '../members/enrolments.ts'
import { inboxData } from './notifications.ts'
import type { Membership } from './paged-list.ts'
import { purchaseLists } from './purchases.ts'

/** Creates the functions for a person's own data. Only `findNode` and `findProgress` may run several statements. */
export function makeViewerData(database: Database, now: () => number) {
  const purchases = purchaseLists(database, now)
  const inbox = inboxData(database, now)
  return {
    /** Lists all sites where a person has a role, sorted by name. All other data comes from the token's site. */
    listSites: makeFindHeldSites(database),
    findProgress: (purchaseIds: readonly string[]) => listProgress(database.kysely, purchaseIds),
    ...purchases,
    ...inbox,
    findNode: makeFindNode(database, {
      EnrolledCourse: ['course_purchase', purchases.enrolledCourses.find],
      DigitalProduct: ['digital_product_purchase', purchases.digitalProducts.find],
      ConsultingService: ['consulting_service_purchase', purchases.consultingServices.find],
      EventRegistration: ['event_registration', purchases.eventRegistrations.find],
      Notification: ['notification', inbox.notifications.find],
      NotificationSubscription: ['notification_subscription', inbox.findSubscription],
    }),
  }
}

export type ViewerData = ReturnType<typeof makeViewerData>

/** The table of a GraphQL type, and the function that finds a member's row. */
type NodeSource = readonly [
  table: string,
  find: (membership: Membership, id: string) => Promise<object | undefined>,
]

/**
 * Creates a function that finds a node by id in the member's data at the token's site. The function runs one statement
 * to find the type and, if it finds a type, another to read the row.
 */
function makeFindNode({ kysely }: Database, sources: Readonly<Record<string, NodeSource>>) {
  return async (membership: Membership, id: string) => {
    const owned = Object.entries(sources).map(
      ([type, [table]]) => sql`select ${sql.lit(type)} as type from ${sql.table(table)}
        where id = ${id} and person_id = ${membership.personId}`,
    )
    const { rows } = await sql<{ type: string }>`${sql.join(owned, sql` union all `)}`.execute(
      kysely,
    )
    for (const { type } of rows) {
      const row = await sources[type]?.[1](membership, id)
      if (row) return { type, row }
    }
    return undefined
  }
}
