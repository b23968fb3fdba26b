import type { Notices } from '../../directory/mail/notices.ts'
import type { Database } from '../../platform/store/database.ts'
import { makeFamilyStore } from './family-store.ts'
import { type AdmittedClients, makeFindGrant } from './find-grant.ts'
import { makeGrantStore } from './grant-store.ts'
import { makeGrantUsage } from './grant-usage.ts'

export type Grants = ReturnType<typeof makeGrants>

interface Clocked {
  readonly now: () => number
}

const DAY_SECONDS = 86_400

/**
 * Creates the stores of grants, token families and usage counts, and the query for grants. The query also reads the
 * facts that decide whether a grant may be used.
 */
export function makeGrants(
  { database, stores, now }: Clocked & { readonly database: Database; readonly stores: Clocked },
  admitted: AdmittedClients,
  { refreshTokenAbsoluteSeconds }: { readonly refreshTokenAbsoluteSeconds: number },
  { newApp }: Pick<Notices, 'newApp'>,
) {
  // A refresh token cannot be used once its grant has expired, so the grant must outlive it (design 9).
  const grantSeconds = refreshTokenAbsoluteSeconds + 2 * DAY_SECONDS
  return {
    grantSeconds,
    store: makeGrantStore(database, grantSeconds, now, newApp),
    families: makeFamilyStore(database),
    findGrant: makeFindGrant(database, admitted, stores.now),
    usage: makeGrantUsage(database, now),
  }
}
