import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'

/**
 * What the discovery documents say of the running configuration, in the shape that it is read in.
 * They are generated from these facts and from the tables of scopes and paths, so that no document
 * can promise what the service does not do.
 */
export interface ServiceFacts {
  /** The issuer and the origin of every advertised address: no trailing slash. */
  readonly baseUrl: string
  readonly service: {
    readonly name: string
    readonly lifetimes: Readonly<Record<PublishedLifetime, number>>
    /** The hosts that count as loopback in a redirect address, as they stand in a URL: `[::1]`. */
    readonly loopbackHosts: readonly string[]
    readonly metadataDocuments: {
      readonly hosts: readonly string[]
      readonly openRegistration: boolean
    }
    readonly files: { readonly fileBytesMax: number; readonly uploadSeconds: number }
    readonly documents: { readonly cacheSeconds: number }
    /** What is on besides what everybody gets. */
    readonly furtherPlans: Readonly<Record<PublishedPlan, boolean>>
  }
  /** What the scopes of operators open here. */
  readonly scopeUses: Pick<ScopeUses, 'addressesOf'>
  /** The revisions of the Model Context Protocol that the tools speak, the newest first. */
  readonly protocolVersions: readonly string[]
  readonly integrations: readonly {
    readonly client_name: string
    readonly other_names: readonly string[]
  }[]
}

type PublishedPlan = 'backChannelLogout' | 'pushedAuthorizationRequests' | 'dpop' | 'privateKeyJwt'

/** Those that a client must know. */
type PublishedLifetime =
  | 'authorizationCodeSeconds'
  | 'accessTokenSeconds'
  | 'idTokenSeconds'
  | 'refreshTokenSeconds'
  | 'refreshTokenAbsoluteSeconds'
  | 'refreshRetrySeconds'
