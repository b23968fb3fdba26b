import type { Limits } from '../../platform/limits/limits.ts'
import { networkOf } from '../../platform/limits/network.ts'
import type { StateStore } from '../../platform/store/oauth-state.ts'
import type { Client } from './client.ts'
import { type ClientStoreDependencies, makeClientStore } from './client-store.ts'
import { isLoopbackClientId, makeLoopbackClients } from './loopback-clients.ts'
import { makePlatformCallbacks, type PlatformCallbackDependencies } from './platform-callbacks.ts'
import { makeUnusedClients, type UnusedClientDependencies } from './unused-clients.ts'

/** Finds a client of whatever origin. */
export interface ClientFinder {
  /**
   * @param fresh wants no client of a metadata document that it is time to fetch again
   * @param returnsTo where an authorization request wants to return; it is among the addresses of a
   *   platform that registered it by a pattern
   */
  find(clientId: string, fresh?: boolean, returnsTo?: string): Promise<Client | undefined>
}

/** Clients of metadata documents, as far as finding one is concerned. */
export interface DocumentSource {
  find(clientId: string, fresh: boolean): Promise<Client | undefined>
  /** Whether documents of this address are admitted at all; asks no store. */
  admitsAddress(clientId: string): boolean
}

/** Every way in which a client comes to be. */
export type Clients = ReturnType<typeof makeClients>

export interface ClientsDependencies extends ClientStoreDependencies {
  readonly state: StateStore
  readonly requestLimits: Limits
  readonly loopbackHosts: readonly string[]
  readonly registration: {
    readonly idleClientSeconds: number
  } & PlatformCallbackDependencies['registration'] &
    UnusedClientDependencies['registration']
  readonly networkKey: Buffer
  readonly documents: DocumentSource
  /** The client of this service's own pages. */
  readonly own: Client
}

/**
 * Puts the sources of clients together. The forms of the ids exclude each other, so that a client of
 * one origin cannot take the place of another: an address is a document's, `loopback_` and 128 random
 * bits is a self-registered one, and every other id is known beforehand.
 */
export function makeClients(dependencies: ClientsDependencies) {
  const { state, requestLimits, registration, documents, own } = dependencies
  const known = makeClientStore(dependencies)
  const loopback = makeLoopbackClients({
    ...dependencies,
    records: state.adapterFor('Client'),
    unused: makeUnusedClients(dependencies),
    unusedSeconds: registration.unusedClientSeconds,
    idleSeconds: registration.idleClientSeconds,
  })
  const callbacks = makePlatformCallbacks(dependencies)
  return {
    loopback,
    callbacks,
    /** Whether clients of this origin are admitted at all, which a configuration can take back. */
    admitsOrigin: (clientId: string) =>
      !clientId.startsWith('https://') || documents.admitsAddress(clientId),
    /** Counts a registration from an address; tells when there were too many. */
    countRegistration: async (address: string) =>
      await requestLimits.takeTogether('registrations', networkOf(address)),
    async find(clientId: string, fresh = false, returnsTo?: string): Promise<Client | undefined> {
      if (clientId === own.clientId) return own
      if (clientId.startsWith('https://')) return await documents.find(clientId, fresh)
      if (isLoopbackClientId(clientId)) return await loopback.find(clientId)
      const client = await known.find(clientId)
      if (!client || returnsTo === undefined || client.redirectUris.includes(returnsTo)) {
        return client
      }
      return (await callbacks.admits(clientId, returnsTo))
        ? {
            ...client,
            redirectUris: [...client.redirectUris, returnsTo],
            patternCallback: returnsTo,
          }
        : client
    },
  }
}
