import type { Limits } from '../../platform/limits/limits.ts'
import { networkOf } from '../../platform/limits/network.ts'
import type { StateStore } from '../../platform/store/oauth-state.ts'
import type { Client } from './client.ts'
import { type ClientStoreDependencies, makeClientStore } from './client-store.ts'
import type { DocumentClients } from './document-clients.ts'
import {
  isLoopbackClientId,
  type LoopbackClientDependencies,
  makeLoopbackClients,
} from './loopback-clients.ts'
import { makePlatformCallbacks, type PlatformCallbackDependencies } from './platform-callbacks.ts'

/** Finds a client of whatever origin. */
export interface ClientFinder {
  /**
   * @param fresh ignores a copy of a metadata document that it is time to fetch again
   * @param returnsTo where an authorization request wants to return; added to the addresses of a
   *   platform that registered it by a pattern
   */
  find(clientId: string, fresh?: boolean, returnsTo?: string): Promise<Client | undefined>
}

/** Every way in which a client comes to be. */
export type Clients = ReturnType<typeof makeClients>

export interface ClientsDependencies
  extends ClientStoreDependencies,
    Omit<LoopbackClientDependencies, 'records'> {
  readonly state: StateStore
  readonly requestLimits: Limits
  readonly registration: LoopbackClientDependencies['registration'] &
    PlatformCallbackDependencies['registration']
  readonly documents: Pick<DocumentClients, 'find' | 'admitsAddress'>
  /** The client of this service's own pages. */
  readonly own: Client
}

/**
 * Puts the sources of clients together. The forms of the ids exclude each other, so that a client of
 * one origin cannot take the place of another: an address is a document's, `loopback_` and 128 random
 * bits is a self-registered one, and every other id is known beforehand.
 */
export function makeClients(dependencies: ClientsDependencies) {
  const { state, requestLimits, documents, own } = dependencies
  const known = makeClientStore(dependencies)
  const loopback = makeLoopbackClients({ ...dependencies, records: state.adapterFor('Client') })
  const callbacks = makePlatformCallbacks(dependencies)
  return {
    loopback,
    callbacks,
    /** Whether the configuration still admits clients of this origin. */
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
      if (!(await callbacks.admits(clientId, returnsTo))) return client
      const redirectUris = [...client.redirectUris, returnsTo]
      return { ...client, redirectUris, patternCallback: returnsTo }
    },
  }
}
