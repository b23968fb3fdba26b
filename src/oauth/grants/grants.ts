import type { Database } from '../../platform/store/database.ts'
import { makeFamilyStore } from './family-store.ts'
import { type AdmittedClients, makeFindGrant } from './find-grant.ts'
import { makeGrantStore } from './grant-store.ts'
import { makeGrantUsage } from './grant-usage.ts'

export type Grants = ReturnType<typeof makeGrants>

const DAY_SECONDS = 86_400

/** Opens the grants: their rows, their families of tokens and the counts of their use. */
export function makeGrants(
  { database, now }: { readonly database: Database; readonly now: () => number },
  admitted: AdmittedClients,
  refreshTokenAbsoluteSeconds: number,
) {
  // Refresh tokens fail when their grant has expired, so the grant must outlive them (design 9).
  const grantSeconds = refreshTokenAbsoluteSeconds + 2 * DAY_SECONDS
  return {
    /** Lifetime of a grant. */
    grantSeconds,
    store: makeGrantStore(database, grantSeconds, now),
    families: makeFamilyStore(database),
    findGrant: makeFindGrant(database, admitted),
    usage: makeGrantUsage(database, now),
  }
}
