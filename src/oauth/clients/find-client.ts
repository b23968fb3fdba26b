import { LRUCache } from 'lru-cache'
import type { ClientMetadata } from 'oidc-provider'

import type { Config } from '../../config/config.ts'
import { networkOf } from '../../platform/limits/client-network.ts'
import type { Platform } from '../../platform/platform.ts'
import { compiled, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import { type Client, canBeClientId } from './client.ts'
import { toClientMetadata } from './client-metadata.ts'
import { makeClientStore } from './client-store.ts'
import type { DocumentClients } from './document-clients.ts'
import { isLoopbackClientId, makeLoopbackClients } from './loopback-clients.ts'
import { makePlatformCallbacks } from './platform-callbacks.ts'

export type Clients = ReturnType<typeof makeClients>

interface ClientSources {
  readonly networkKey: Buffer
  readonly documents: Pick<DocumentClients, 'find' | 'admitsAddress'>
  /** The client of this service's own pages. */
  readonly own: Client
}

/**
 * Combines the sources of clients. The format of a client_id determines the source, so a client from one source cannot
 * impersonate a client from another. A document client's client_id is a URL. A loopback client's client_id is
 * `loopback_` and 128 random bits. All other ids belong to applications, resource servers, platforms and our own pages.
 */
export function makeClients(
  { database, state, requestLimits, now }: Platform,
  { integrations, service }: Pick<Config, 'integrations' | 'service'>,
  { networkKey, documents, own }: ClientSources,
) {
  const policy = { ...service, integrations }
  const findKnown = makeClientStore({ ...policy, database, now })
  const records = state.adapterFor('Client')
  const loopback = makeLoopbackClients({ ...policy, database, records, networkKey, now })
  const callbacks = makePlatformCallbacks({ ...policy, database, now })
  return {
    loopback,
    callbacks,
    /** Whether the configuration allows the URL of a client's metadata document; true for a client without one. */
    admitsOrigin: (clientId: string) =>
      !clientId.startsWith('https://') || documents.admitsAddress(clientId),
    /** Counts a registration against the limit of the caller's network. @returns the limit if it is exceeded */
    countRegistration: async (address: string) =>
      await requestLimits.takeTogether('registrations', networkOf(address)),
    /**
     * Finds a client of any origin. If `fresh` is set, ignores stale copies of metadata documents. `returnsTo` is the
     * redirect_uri of the request. It is added to a platform's URIs if platform-callbacks.ts admits it (design 6).
     */
    async find(clientId: string, fresh = false, returnsTo?: string): Promise<Client | undefined> {
      if (clientId === own.clientId) return own
      if (clientId.startsWith('https://')) return await documents.find(clientId, fresh)
      if (isLoopbackClientId(clientId)) return await loopback.find(clientId)
      const client = await findKnown(clientId)
      if (!client || returnsTo === undefined || client.redirectUris.includes(returnsTo)) {
        return client
      }
      if (!(await callbacks.admits(clientId, returnsTo))) return client
      const redirectUris = [...client.redirectUris, returnsTo]
      return { ...client, redirectUris, patternCallback: returnsTo }
    },
  }
}

interface KeptClient {
  readonly client: Client
  readonly metadata: ClientMetadata
}

/** Finds a client, in the cache if possible. @param version the client's version, if this request has read it */
export type FindKeptClient = (clientId: string, version?: number) => Promise<KeptClient | undefined>

const CLIENTS_MAX = 1000

/**
 * Caches clients and their engine metadata, except for loopback clients. An entry is valid until the client's version
 * in the database changes or one of its secrets expires. Triggers increment the version (platform/store/migrations).
 * The query for a known token or code also reads the version, so an unchanged, cached client needs no further query. A
 * change takes effect at the next request in every process, even if it was made by hand.
 */
export function makeKeptClients(
  clients: Pick<Clients, 'find'>,
  database: Database,
  now: () => number,
): FindKeptClient {
  const kept = new LRUCache<string, KeptClient & { readonly version: number }>({ max: CLIENTS_MAX })
  const { kysely } = database
  const readVersion = compiled(kysely, (value: Valued<{ clientId: string }>) =>
    kysely
      .selectFrom('client_version')
      .select('version')
      .where('client_id', '=', value('clientId')),
  )
  return async (clientId, version) => {
    if (!canBeClientId(clientId)) return undefined
    if (isLoopbackClientId(clientId)) {
      // Not cached, because loopback clients are in the state store, which has no triggers.
      const client = await clients.find(clientId)
      return client && { client, metadata: toClientMetadata(client) }
    }
    // Read the version before the client. Then a change between the two reads invalidates the cached entry.
    const live = version ?? (await readVersion({ clientId })).rows[0]?.version ?? 0
    const known = kept.get(clientId)
    if (known?.version === live && now() < (known.client.changesAt ?? Infinity)) return known
    const client = await clients.find(clientId)
    if (!client) return undefined
    const found = { client, metadata: toClientMetadata(client), version: live }
    kept.set(clientId, found)
    return found
  }
}
