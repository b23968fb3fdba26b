/** Reads and changes a person's own data for the Member API, independently of GraphQL. */

import { makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import type { Database } from '../../platform/store/database.ts'
import { listProgress } from '../members/enrolments.ts'
import { inboxData } from './notifications.ts'
import type { Membership } from './paged-list.ts'
import { purchaseLists } from './purchases.ts'

/** Creates the functions for a person's own data. Each function except `findNode` runs one statement. */
export function makeViewerData(database: Database, now: () => number) {
  const purchases = purchaseLists(database, now)
  const inbox = inboxData(database, now)
  const finders = {
    EnrolledCourse: purchases.enrolledCourses.find,
    DigitalProduct: purchases.digitalProducts.find,
    ConsultingService: purchases.consultingServices.find,
    EventRegistration: purchases.eventRegistrations.find,
    Notification: inbox.notifications.find,
    NotificationSubscription: inbox.findSubscription,
  }
  return {
    /** Lists all sites where a person has a role, sorted by name. All other data comes from the token's site. */
    listSites: makeFindHeldSites(database),
    findProgress: (purchaseIds: readonly string[]) => listProgress(database.kysely, purchaseIds),
    ...purchases,
    ...inbox,
    /** Finds a node by id in the member's data at the token's site. Tries one type after another. */
    async findNode(membership: Membership, id: string) {
      for (const [type, find] of Object.entries(finders)) {
        const row: object | undefined = await find(membership, id)
        if (row) return { type, row }
      }
      return undefined
    },
  }
}

export type ViewerData = ReturnType<typeof makeViewerData>
