import type { PersonStore } from '../../directory/people/person-store.ts'
import type { HeldSite } from '../../directory/sites/site-choice.ts'
import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import type { Platform } from '../../platform/platform.ts'
import type { DocumentClients } from '../clients/document-clients.ts'
import type { Clients, FindKeptClient } from '../clients/find-client.ts'
import type { OptionalProtocols } from '../clients/optional-protocols.ts'
import type { Grants } from '../grants/grants.ts'
import type { Proofs } from '../keys/proofs.ts'
import type { Exchange, ReadTokenRequest } from '../token/authorization-code.ts'
import type { RefreshTokenLifetimes } from '../token/refresh-token-use.ts'
import type { Resources } from '../token/resource-indicators.ts'
import type { Tokens } from '../token/tokens.ts'
import type { RequestLengths } from './authorize-requests.ts'
import type { ConformanceProfile } from './conformance-profile.ts'
import type { SignOuts } from './sign-outs.ts'

/** The parts of the service that the engine is built from. */
export interface AuthorizationServerParts {
  readonly people: Pick<PersonStore, 'findPerson' | 'signOutSession'>
  readonly clients: Clients
  readonly documentResolution: DocumentResolution
  readonly grants: Grants
  readonly tokens: Tokens
  readonly proofs: Proofs
  /** Sessions at applications; undefined if applications are not notified of sign-outs. */
  readonly signOuts: SignOuts | undefined
  readonly cookieKeys: readonly string[]
}

export interface AuthorizationServerSettings {
  readonly baseUrl: string
  readonly lifetimes: RefreshTokenLifetimes & {
    readonly authorizationCodeSeconds: number
    readonly accessTokenSeconds: number
    readonly idTokenSeconds: number
    readonly sessionSeconds: number
    readonly interactionSeconds: number
  }
  readonly furtherPlans: OptionalProtocols
  readonly requestLengths: RequestLengths
  /** Prefixes of assistant callbacks that differ for each connection. */
  readonly connectionPrefixes: readonly string[]
}

/**
 * The engine's settings for Client ID Metadata Documents. The client store provides stored copies (engine-clients.ts).
 * The engine itself fetches a document only at the authorization endpoint, only if the copy is stale, and with its own
 * time limit. Even then, it receives the client from our store, so a document can forge neither a scope nor one of our
 * own properties.
 */
export interface DocumentResolution {
  /** Whether the feature is on, and listed in the discovery documents. */
  readonly enabled: boolean
  readonly documents: DocumentClients
  /** Sends a request, but never to a private address. */
  readonly fetch: SendOutgoing
}

/** Dependencies of the engine's settings, adapter, prompts and events. */
export interface EngineDependencies extends AuthorizationServerParts, AuthorizationServerSettings {
  readonly platform: Platform
  readonly resources: Resources
  readonly conformance: ConformanceProfile | undefined
  readonly findKeptClient: FindKeptClient
  readonly listHeldSites: (personId: string, clientId?: string) => Promise<HeldSite[]>
  readonly readTokenRequest: ReadTokenRequest
  readonly exchange: Exchange
}
