/** What the Member API shows of a person. GraphQL is not known here. */

import { type HeldSite, listHeldSites } from '../sites/site-choice.ts'
import type { Database } from '../store/database.ts'
import { type InboxData, inboxData } from './notifications.ts'
import { type PurchaseData, purchaseData } from './purchases.ts'

/** Everything that a member may ask and change. Each call is one statement. */
export interface MemberData extends PurchaseData, InboxData {
  /** Every site of a person, by name; the only question here that reaches beyond a token's site. */
  listSites(personId: string): Promise<HeldSite[]>
}

export function makeMemberData(database: Database, now: () => number): MemberData {
  return {
    listSites: async (personId) => await listHeldSites(database, personId),
    ...purchaseData(database),
    ...inboxData(database, now),
  }
}
