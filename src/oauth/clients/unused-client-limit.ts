import { createHmac } from 'node:crypto'

import { networkOf } from '../../platform/limits/client-network.ts'
import type { Database } from '../../platform/store/database.ts'

export interface UnusedClientDependencies {
  readonly database: Database
  /** Key for the digests of networks. IP addresses are not stored. */
  readonly networkKey: Buffer
  readonly registration: {
    /** Lifetime of a client to which no person has consented. */
    readonly unusedClientSeconds: number
    readonly unusedClientsPerNetworkMax: number
  }
  readonly now: () => number
}

/**
 * Counts an unused client against the limit of the caller's network (design 8). Above the limit, stops counting the
 * oldest clients, because rejecting new ones would let one caller block its whole network.
 *
 * @returns the ids of the clients that are no longer counted, which must be deleted
 */
export async function countUnused(
  clientId: string,
  address: string,
  { database: { kysely }, networkKey, registration, now }: UnusedClientDependencies,
): Promise<readonly string[]> {
  const { unusedClientSeconds, unusedClientsPerNetworkMax: max } = registration
  const digest = createHmac('sha256', networkKey).update(networkOf(address)).digest('base64url')
  const network = digest.slice(0, 22)
  const registeredAt = now()
  await kysely
    .insertInto('unused_client')
    .values({
      client_id: clientId,
      network,
      registered_at: registeredAt,
      expires_at: registeredAt + unusedClientSeconds * 1000,
    })
    .execute()
  const displaced = await kysely
    .selectFrom('unused_client')
    .select('client_id')
    .where('network', '=', network)
    .orderBy('registered_at', 'desc')
    .orderBy('client_id')
    .offset(max)
    .limit(max)
    .execute()
  const ids = displaced.map((row) => row.client_id)
  if (ids.length === 0) return []
  await kysely.deleteFrom('unused_client').where('client_id', 'in', ids).execute()
  return ids
}

/** Stops counting a client as unused. */
export async function forgetUnused(
  clientId: string,
  { database: { kysely } }: Pick<UnusedClientDependencies, 'database'>,
): Promise<void> {
  await kysely.deleteFrom('unused_client').where('client_id', '=', clientId).execute()
}
