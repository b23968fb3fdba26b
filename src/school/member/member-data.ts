/** What the Member API shows of a person. GraphQL is not known here. */

import { makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import type { Database } from '../../platform/store/database.ts'
import { makeFindNode } from './nodes.ts'
import { inboxData } from './notifications.ts'
import { purchaseData } from './purchases.ts'

/** Everything that a member may ask and change. Each call is one statement, but for `findNode`. */
export function makeMemberData(database: Database, now: () => number) {
  const lists = { ...purchaseData(database, now), ...inboxData(database, now) }
  return {
    /** Every site of a person, by name; the only question here that reaches beyond a token's site. */
    listSites: makeFindHeldSites(database),
    ...lists,
    findNode: makeFindNode(database, lists),
  }
}

export type MemberData = ReturnType<typeof makeMemberData>
