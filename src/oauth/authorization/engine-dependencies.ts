import { Provider } from 'oidc-provider'

import type { ServicePolicy } from '../../config/config.ts'
import type { BrowserSessions } from '../../directory/people/browser-sessions.ts'
import type { PersonStore } from '../../directory/people/person-store.ts'
import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'
import { makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import { makeVisitorForms } from '../../platform/http/page-form.ts'
import type { Platform } from '../../platform/platform.ts'
import type { DocumentClients } from '../clients/document-clients.ts'
import { type Clients, makeKeptClients } from '../clients/find-client.ts'
import type { Proofs } from '../clients/proofs.ts'
import type { Grants } from '../grants/grants.ts'
import { makeExchange, makeReadTokenRequest } from '../token/authorization-code.ts'
import { makeResources } from '../token/resource-indicators.ts'
import type { Tokens } from '../token/tokens.ts'
import type { ConformanceProfile } from './conformance-profile.ts'
import type { SignOuts } from './sign-outs.ts'

/** The parts and settings from which the authorization server is built. */
export interface AuthorizationServerParts
  extends Pick<ServicePolicy, 'lifetimes' | 'furtherPlans'> {
  readonly people: Pick<PersonStore, 'findPerson' | 'cancelDeletion'>
  readonly browserSessions: BrowserSessions
  readonly clients: Clients
  /**
   * Clients with a metadata document. The engine requests a document only for an authorization or pushed request, and
   * only if no stored copy is fresh. Our `fetch` then stores the document and returns the metadata of the stored client
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
  readonly baseUrl: string
  readonly requestLengths: ServicePolicy['authorizationRequests']
  /** Callback prefixes of assistants that connect several people with one client_id. */
  readonly connectionPrefixes: readonly string[]
  readonly changeableAreas: ScopeUses['changeableAreas']
}

/** Dependencies of the engine's settings, adapter, prompts and events. */
export type EngineDependencies = ReturnType<typeof makeEngineDependencies>

/** Adds the functions that the engine needs. Memoizes the lookups of clients, grants and sites per engine request. */
export function makeEngineDependencies(
  platform: Platform,
  parts: AuthorizationServerParts,
  conformance: ConformanceProfile | undefined,
) {
  const { database, now } = platform
  const resources = makeResources(parts.baseUrl, parts.changeableAreas)
  const clients = { ...parts.clients, find: oncePerRequest(parts.clients.find) }
  const findGrant = oncePerRequest(
    parts.grants.findGrant,
    // A grant found by a family or code can then be found by its id without a query.
    (facts) => facts && [{ grantId: facts.grant.id }],
  )
  const grants = { ...parts.grants, findGrant }
  const shared = { ...parts, platform, clients, grants, conformance, resources }
  const tokenRequests = { ...shared, readTokenRequest: makeReadTokenRequest(shared) }
  return {
    ...tokenRequests,
    exchange: makeExchange(tokenRequests),
    findKeptClient: makeKeptClients(clients, database, now),
    /** Recognizes the browser that began an interaction. */
    visitors: makeVisitorForms(parts),
    listHeldSites: oncePerRequest(makeFindHeldSites(database)),
  }
}

/**
 * Memoizes a lookup per request to the engine. All checks of a request must see the same state.
 *
 * @param sameAs returns the arguments of another call that has the same answer
 */
function oncePerRequest<Question extends unknown[], Answer>(
  ask: (...question: Question) => Promise<Answer>,
  sameAs?: (answer: Answer) => readonly unknown[] | undefined,
): (...question: Question) => Promise<Answer> {
  const byRequest = new WeakMap<object, Map<string, Promise<Answer>>>()
  return async (...question) => {
    const { ctx } = Provider
    if (!ctx) return await ask(...question)
    const known = byRequest.get(ctx) ?? new Map<string, Promise<Answer>>()
    byRequest.set(ctx, known)
    const key = JSON.stringify(question)
    const earlier = known.get(key)
    if (earlier) return await earlier
    const answer = ask(...question)
    known.set(key, answer)
    const other = JSON.stringify(sameAs?.(await answer))
    if (other && !known.has(other)) known.set(other, answer)
    return await answer
  }
}
