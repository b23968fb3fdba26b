import type { Database } from '../../platform/store/database.ts'
import { makeFamilyStore } from './family-store.ts'
import { makeFindGrant } from './find-grant.ts'
import { makeGrantStore } from './grant-store.ts'
import { makeGrantUsage } from './grant-usage.ts'

export interface GrantPorts {
  readonly database: Database
  readonly integrations: readonly { readonly client_id: string }[]
  /** Whether clients of this origin are admitted at all, which a configuration can take back. */
  readonly admitsOrigin: (clientId: string) => boolean
  readonly refreshTokenAbsoluteSeconds: number
  readonly now: () => number
}

/** Grants: stored, looked at at every use, and counted. */
export type Grants = ReturnType<typeof makeGrants>

const DAY_SECONDS = 86_400

export function makeGrants(ports: GrantPorts) {
  const { database, integrations, admitsOrigin, refreshTokenAbsoluteSeconds, now } = ports
  const clientIds = new Set(integrations.map(({ client_id }) => client_id))
  const findGrant = makeFindGrant(database, { integrations: clientIds, admitsOrigin })
  // The grant outlives its refresh tokens, or they would fail although they are alive (design 9).
  const grantSeconds = refreshTokenAbsoluteSeconds + 2 * DAY_SECONDS
  return {
    /** How long a grant lasts. */
    grantSeconds,
    store: makeGrantStore({ database, grantSeconds, now }),
    families: makeFamilyStore(database),
    findGrant,
    usage: makeGrantUsage(database, now),
  }
}
