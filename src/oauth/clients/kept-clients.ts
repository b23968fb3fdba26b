import { LRUCache } from 'lru-cache'
import type { ClientMetadata } from 'oidc-provider'

import { compiled, type Valued } from '../../platform/store/compiled.ts'
import type { Database } from '../../platform/store/database.ts'
import { type Client, canBeClientId } from './client.ts'
import { toClientMetadata } from './client-metadata.ts'
import type { ClientFinder } from './find-client.ts'
import { isLoopbackClientId } from './loopback-clients.ts'

/** A client, and its metadata for the engine. */
interface KeptClient {
  readonly client: Client
  readonly metadata: ClientMetadata
}

/**
 * Finds a client for a request that authenticates it.
 *
 * @param version the version that a query of this request found; read where it is not given
 */
export type FindKeptClient = (clientId: string, version?: number) => Promise<KeptClient | undefined>

const CLIENTS_MAX = 1000

/**
 * What was compiled of clients, kept for as long as the database says that nothing of it was changed.
 * The version is counted by triggers (migrations/0002-by-engine) and comes with the query that a token or code
 * needs anyway, so that an unchanged client costs no query, and a change counts at the next request
 * in every process, also one that was made by hand.
 */
export function makeKeptClients(
  clients: Pick<ClientFinder, 'find'>,
  database: Database,
  now: () => number,
): FindKeptClient {
  const kept = new LRUCache<string, KeptClient & { readonly version: number }>({ max: CLIENTS_MAX })
  const readVersion = versionReader(database)
  return async (clientId, version) => {
    if (!canBeClientId(clientId)) return undefined
    if (isLoopbackClientId(clientId)) {
      // A record of the OAuth state, which no trigger counts.
      const client = await clients.find(clientId)
      return client && { client, metadata: toClientMetadata(client) }
    }
    // Read before the client: one that changes in between is kept under an outdated version.
    const live = version ?? (await readVersion(clientId))
    const known = kept.get(clientId)
    if (known?.version === live && now() < (known.client.changesAt ?? Infinity)) return known
    const client = await clients.find(clientId)
    if (!client) return undefined
    const compiledClient = { client, metadata: toClientMetadata(client), version: live }
    kept.set(clientId, compiledClient)
    return compiledClient
  }
}

function versionReader({ kysely }: Database) {
  const read = compiled(kysely, (value: Valued<{ clientId: string }>) =>
    kysely
      .selectFrom('client_version')
      .select('version')
      .where('client_id', '=', value('clientId')),
  )
  return async (clientId: string): Promise<number> => {
    const { rows } = await read({ clientId })
    return rows[0]?.version ?? 0
  }
}
