/**
 * What the discovery documents say of the running configuration. They are generated from these facts
 * and from the tables of scopes and paths, so that no document can promise what the service does not
 * do. The composition root fills them; nothing here reads a configuration.
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
  readonly ttl: Lifetimes
  readonly documentCacheSeconds: number
}

export interface Lifetimes {
  readonly accessTokenSeconds: number
  /** How long a refresh token lives when it is not used; every use starts it again. */
  readonly refreshTokenSeconds: number
  /** How long a chain of refresh tokens lives in all, however often it is used. */
  readonly refreshTokenAbsoluteSeconds: number
  readonly authorizationCodeSeconds: number
  readonly idTokenSeconds: number
  /** How long a repeated refresh of the same token gets the same answer. */
  readonly refreshRetrySeconds: number
}
