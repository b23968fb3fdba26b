import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'

/** The facts about the service that discovery documents publish. */
export interface ServiceFacts {
  /** The issuer, and the origin of all published URLs, without a trailing slash. */
  readonly baseUrl: string
  readonly service: {
    readonly name: string
    readonly lifetimes: Readonly<Record<PublishedLifetime, number>>
    /** The loopback hosts that redirect URIs may contain, as in URLs: `[::1]`. */
    readonly loopbackHosts: readonly string[]
    readonly metadataDocuments: {
      readonly hosts: readonly string[]
      readonly openRegistration: boolean
    }
    readonly files: { readonly fileBytesMax: number; readonly uploadSeconds: number }
    readonly documents: { readonly cacheSeconds: number }
    /** Whether each optional protocol is enabled. */
    readonly furtherPlans: Readonly<Record<PublishedPlan, boolean>>
  }
  readonly scopeUses: Pick<ScopeUses, 'addressesOf'>
  /** The supported revisions of the Model Context Protocol, newest first. */
  readonly protocolVersions: readonly string[]
  readonly integrations: readonly {
    readonly client_name: string
    readonly other_names: readonly string[]
  }[]
}

type PublishedPlan = 'backChannelLogout' | 'pushedAuthorizationRequests' | 'dpop' | 'privateKeyJwt'

type PublishedLifetime =
  | 'authorizationCodeSeconds'
  | 'accessTokenSeconds'
  | 'idTokenSeconds'
  | 'refreshTokenSeconds'
  | 'refreshTokenAbsoluteSeconds'
  | 'refreshRetrySeconds'
