import type { Logger } from 'pino'

import type { PersonStore } from '../../directory/people/person-store.ts'
import type { NoteEvent } from '../../platform/audit/event-rows.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import type { DocumentClients } from '../clients/document-clients.ts'
import type { ClientFinder, FindKeptClient } from '../clients/find-client.ts'
import type { FurtherPlans } from '../clients/further-plans.ts'
import type { RememberedGrantDependencies } from '../consent/remembered-grant.ts'
import type { FamilyStore } from '../grants/family-store.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { UseOnce } from '../keys/proofs.ts'
import type { Exchange, ReadTokenRequest } from '../token/authorization-code.ts'
import type { ClaimsDependencies } from '../token/claims.ts'
import type { TokenEndpointPorts } from '../token/token-endpoint.ts'
import type { FindAccessToken } from '../token/tokens.ts'
import type { RequestLengths } from './authorize-requests.ts'
import type { ConformanceProfile } from './conformance-profile.ts'

/**
 * How the engine's Client ID Metadata Documents and our copies of them work together.
 *
 * The client store answers first, with the copy (engine-clients.ts). Only at the authorization
 * endpoint, and only when the copy is not fresh, the engine fetches, which gives the request its time
 * limit. Instead of the document it gets the client as our store shows it, so that neither a scope nor one
 * of our own properties can be forged in a document.
 */
export interface DocumentResolution {
  /** False keeps the feature off, and out of the discovery documents. */
  readonly enabled: boolean
  readonly documents: DocumentClients
  /** Sends a request, to no private address. */
  readonly fetch: SendOutgoing
}

/** What the engine works with: its settings, its adapter, its prompts and its events take what they need of it. */
export interface EngineParts
  extends Omit<TokenEndpointPorts, 'grants' | 'families' | 'lifetimes'>,
    RememberedGrantDependencies,
    ClaimsDependencies {
  readonly baseUrl: string
  readonly logger: Logger
  readonly noteEvent: NoteEvent
  readonly requestLimits: Limits
  readonly lifetimes: TokenEndpointPorts['lifetimes'] & {
    readonly idTokenSeconds: number
    readonly sessionSeconds: number
    readonly interactionSeconds: number
  }
  readonly furtherPlans: FurtherPlans
  readonly requestLengths: RequestLengths
  readonly cookieKeys: readonly string[]
  /** Of the nonces that DPoP proofs carry: 32 bytes. */
  readonly nonceKey: Buffer
  readonly useOnce: UseOnce
  readonly findAccessToken: FindAccessToken
  readonly clients: ClientFinder
  readonly findKeptClient: FindKeptClient
  readonly readTokenRequest: ReadTokenRequest
  readonly exchange: Exchange
  readonly grants: GrantStore
  readonly families: TokenEndpointPorts['families'] & Pick<FamilyStore, 'end'>
  /** Writes down that a session is over. */
  readonly signOutSession: PersonStore['signOutSession']
  /** How the callbacks begin of which each connection of an assistant has its own. */
  readonly connectionPrefixes: readonly string[]
  readonly documentResolution: DocumentResolution
  readonly conformance: ConformanceProfile | undefined
  readonly now: () => number
}
