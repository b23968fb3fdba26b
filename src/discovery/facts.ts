import type { Config } from '../config/config.ts'
import type { Lifetimes } from '../config/lifetimes.ts'

/**
 * What the discovery documents say of the running configuration. They are generated from these facts
 * and from the tables of scopes and paths, so that no document can promise what the service does not
 * do.
 */
export interface ServiceFacts {
  /** The issuer and the origin of every advertised address: no trailing slash. */
  readonly baseUrl: string
  readonly serviceName: string
  readonly metadataDocuments: 'off' | 'listed hosts' | 'open'
  readonly metadataDocumentHosts: readonly string[]
  /** The hosts that count as loopback in a redirect address, as they stand in a URL: `[::1]`. */
  readonly loopbackHosts: readonly string[]
  readonly integrations: readonly { readonly clientName: string }[]
  /** Those that a client must know. */
  readonly ttl: Omit<Lifetimes, 'sessionSeconds' | 'interactionSeconds' | 'pageSessionSeconds'>
  readonly documentCacheSeconds: number
}

/** The part of a configuration that is published. */
export type PublishedSettings = Pick<Config, 'baseUrl' | 'service' | 'integrations'>

export function factsOf({ baseUrl, service, integrations }: PublishedSettings): ServiceFacts {
  const { hosts, openRegistration } = service.metadataDocuments
  const listed = hosts.length > 0 ? 'listed hosts' : 'off'
  return {
    baseUrl,
    serviceName: service.name,
    metadataDocuments: openRegistration ? 'open' : listed,
    metadataDocumentHosts: hosts,
    loopbackHosts: service.loopbackHosts,
    integrations: integrations.map(({ client_name }) => ({ clientName: client_name })),
    ttl: service.lifetimes,
    documentCacheSeconds: service.documents.cacheSeconds,
  }
}
