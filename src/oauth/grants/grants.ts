import type { Database } from '../../platform/store/database.ts'
import type { FindGrant } from './access.ts'
import { type FamilyStore, makeFamilyStore } from './family-store.ts'
import { makeFindGrant } from './find-grant.ts'
import { type GrantStore, makeGrantStore } from './grant-store.ts'
import { type GrantUsage, makeGrantUsage } from './grant-usage.ts'

export interface GrantPorts {
  readonly database: Database
  readonly integrations: readonly { readonly client_id: string }[]
  /** Whether clients of this origin are admitted at all, which a configuration can take back. */
  readonly admitsOrigin: (clientId: string) => boolean
  readonly refreshTokenAbsoluteSeconds: number
  readonly now: () => number
}

/** What people allowed: written down, looked at whenever it is used, and counted. */
export interface Grants {
  /** How long what a person allowed lasts. */
  readonly grantSeconds: number
  readonly store: GrantStore
  readonly families: FamilyStore
  readonly findGrant: FindGrant
  readonly usage: GrantUsage
}

const DAY_SECONDS = 86_400

export function makeGrants(ports: GrantPorts) {
  const { database, integrations, admitsOrigin, refreshTokenAbsoluteSeconds, now } = ports
  const clientIds = new Set(integrations.map(({ client_id }) => client_id))
  const findGrant = makeFindGrant(database, { integrations: clientIds, admitsOrigin })
  // The grant outlives its refresh tokens, or they would fail although they are alive (design 9).
  const grantSeconds = refreshTokenAbsoluteSeconds + 2 * DAY_SECONDS
  return {
    grantSeconds,
    store: makeGrantStore({ database, grantSeconds, now }),
    families: makeFamilyStore(database),
    findGrant,
    usage: makeGrantUsage(database, now),
  } satisfies Grants
}
