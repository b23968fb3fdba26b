/** What the Member API shows of a person. GraphQL is not known here. */

import type { Database } from '../store/database.ts'
import { type InboxData, inboxData } from './notifications.ts'
import type { PagedList } from './paged-list.ts'
import {
  type ConsultingService,
  consultingServices,
  type DigitalProduct,
  digitalProducts,
  type EnrolledCourse,
  type EventRegistration,
  enrolledCourses,
  eventRegistrations,
  type FindLastWatched,
  findLastWatched,
} from './purchases.ts'
import { type ViewerData, viewerData } from './viewer.ts'

/** Everything that a member may ask and change. Each call is one statement. */
export interface MemberData extends ViewerData, InboxData {
  readonly enrolledCourses: PagedList<EnrolledCourse>
  readonly digitalProducts: PagedList<DigitalProduct>
  readonly consultingServices: PagedList<ConsultingService>
  readonly eventRegistrations: PagedList<EventRegistration>
  readonly findLastWatched: FindLastWatched
}

export function makeMemberData(database: Database, now: () => number): MemberData {
  return {
    ...viewerData(database),
    ...inboxData(database, now),
    enrolledCourses: enrolledCourses(database),
    digitalProducts: digitalProducts(database),
    consultingServices: consultingServices(database),
    eventRegistrations: eventRegistrations(database),
    findLastWatched: findLastWatched(database),
  }
}
