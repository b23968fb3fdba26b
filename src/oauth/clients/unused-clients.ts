import { createHmac } from 'node:crypto'

import { networkOf } from '../../platform/limits/network.ts'
import type { Database } from '../../platform/store/database.ts'

/** Who registered the clients with which nobody allowed anything yet. */
export interface UnusedClients {
  /**
   * Counts a client for the network of an address.
   *
   * @returns the ids of those that give way to it, the oldest of the network
   */
  add(clientId: string, address: string): Promise<readonly string[]>
  /** Somebody allowed something with the client. */
  remove(clientId: string): Promise<void>
}

export interface UnusedClientDependencies {
  readonly database: Database
  /** Of the digests of networks; whoever reads the database learns no address. */
  readonly networkKey: Buffer
  readonly registration: {
    readonly unusedClientSeconds: number
    readonly unusedClientsPerNetworkMax: number
  }
  readonly now: () => number
}

/**
 * Bounds what anybody can make with a registration, whatever kind of store the clients themselves are in
 * (design 8). The oldest give way, because a client that a person waits for is seconds old, and a refusal
 * would let one caller keep everybody of a network from registering.
 */
export function makeUnusedClients(dependencies: UnusedClientDependencies): UnusedClients {
  const { database, networkKey, registration, now } = dependencies
  const { kysely } = database
  const { unusedClientSeconds, unusedClientsPerNetworkMax } = registration
  return {
    async add(clientId, address) {
      const network = digestOf(address, networkKey)
      const registeredAt = now()
      const expiresAt = registeredAt + unusedClientSeconds * 1000
      await kysely
        .insertInto('unused_client')
        .values({
          ...{ client_id: clientId, network },
          ...{ registered_at: registeredAt, expires_at: expiresAt },
        })
        .execute()
      const tooMany = await kysely
        .selectFrom('unused_client')
        .select('client_id')
        .where('network', '=', network)
        .orderBy('registered_at', 'desc')
        .orderBy('client_id')
        .offset(unusedClientsPerNetworkMax)
        .limit(unusedClientsPerNetworkMax)
        .execute()
      const ids = tooMany.map((row) => row.client_id)
      if (ids.length === 0) return []
      await kysely.deleteFrom('unused_client').where('client_id', 'in', ids).execute()
      return ids
    },
    async remove(clientId) {
      await kysely.deleteFrom('unused_client').where('client_id', '=', clientId).execute()
    },
  }
}

function digestOf(address: string, key: Buffer): string {
  return createHmac('sha256', key).update(networkOf(address)).digest('base64url').slice(0, 22)
}
