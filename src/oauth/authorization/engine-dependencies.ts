import type { ServicePolicy } from '../../config/config.ts'
import type { BrowserSessions } from '../../directory/people/browser-sessions.ts'
import type { PersonStore } from '../../directory/people/person-store.ts'
import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'
import type { HeldSite } from '../../directory/sites/site-choice.ts'
import type { VisitorForms } from '../../platform/http/page-form.ts'
import type { Platform } from '../../platform/platform.ts'
import type { DocumentClients } from '../clients/document-clients.ts'
import type { Clients, FindKeptClient } from '../clients/find-client.ts'
import type { Proofs } from '../clients/proofs.ts'
import type { Grants } from '../grants/grants.ts'
import type { Exchange, ReadTokenRequest } from '../token/authorization-code.ts'
import type { Resources } from '../token/resource-indicators.ts'
import type { Tokens } from '../token/tokens.ts'
import type { ConformanceProfile } from './conformance-profile.ts'
import type { SignOuts } from './sign-outs.ts'

/** The parts of the service that the authorization server is built from. */
export interface AuthorizationServerParts {
  readonly people: Pick<PersonStore, 'findPerson' | 'cancelDeletion'>
  readonly browserSessions: BrowserSessions
  readonly clients: Clients
  /**
   * Clients with a metadata document. The engine requests a document only for an authorization request, and only if no
   * stored copy is fresh. Our `fetch` then stores the document and returns the metadata of the stored client
   * (engine-clients.ts). So a document can set neither scopes nor our own properties.
   */
  readonly documents: DocumentClients
  readonly grants: Grants
  readonly tokens: Tokens
  readonly proofs: Proofs
  /** Sessions at applications; undefined if applications are not notified of sign-outs. */
  readonly signOuts: SignOuts | undefined
  readonly cookieKeys: readonly string[]
  readonly formKey: Buffer
}

export interface AuthorizationServerSettings
  extends Pick<ServicePolicy, 'lifetimes' | 'furtherPlans'> {
  readonly baseUrl: string
  readonly requestLengths: ServicePolicy['authorizationRequests']
  /** Prefixes of assistant callbacks that differ for each connection. */
  readonly connectionPrefixes: readonly string[]
  readonly changeableAreas: ScopeUses['changeableAreas']
}

/** Dependencies of the engine's settings, adapter, prompts and events. */
export interface EngineDependencies extends AuthorizationServerParts, AuthorizationServerSettings {
  /** Recognizes the browser that began an interaction. */
  readonly visitors: Pick<VisitorForms, 'digestOf'>
  readonly platform: Platform
  readonly resources: Resources
  readonly conformance: ConformanceProfile | undefined
  readonly findKeptClient: FindKeptClient
  readonly listHeldSites: (personId: string, clientId?: string) => Promise<HeldSite[]>
  readonly readTokenRequest: ReadTokenRequest
  readonly exchange: Exchange
}
