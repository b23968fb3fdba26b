/** Composes the authorization server: clients, registration, grants, tokens, the engine, its pages and sign-outs. */

import type { Config } from '../config/config.ts'
import type { Directory } from '../directory/directory.ts'
import type { ScopeUses } from '../directory/scopes/scope-uses.ts'
import { makeVisitorForms } from '../platform/http/page-form.ts'
import type { Platform } from '../platform/platform.ts'
import { makeAuthorizationServer } from './authorization/authorization-server.ts'
import { makeSignOuts } from './authorization/sign-outs.ts'
import type { Client } from './clients/client.ts'
import { makeDocumentClients } from './clients/document-clients.ts'
import { makeClients } from './clients/find-client.ts'
import { makeProofs } from './clients/proofs.ts'
import { registrationRoutes } from './clients/registration.ts'
import { makeScopeAdvice } from './clients/scope-advice.ts'
import { makeGrants } from './grants/grants.ts'
import { interactionRoutes } from './interaction/interaction-routes.ts'
import type { InteractionPorts } from './interaction/ways.ts'
import type { Keys } from './keys/key-rings.ts'
import { makeTokens } from './token/tokens.ts'

export interface OauthPorts {
  readonly keys: Keys
  /** The client of this service's own pages. */
  readonly own: Client
  /** The paths at which each operator scope grants access. The consent page marks unused scopes. */
  readonly scopeUses: ScopeUses
  readonly createMember: InteractionPorts['createMember']
  /** Records that an application did not accept a sign-out notice. */
  readonly noteSignOutFailure: (clientId: string, reason: string) => void
}

export type Oauth = Awaited<ReturnType<typeof makeOauth>>

export async function makeOauth(
  { baseUrl, service, integrations, conformance, documentCopies, assistants }: Config,
  platform: Platform,
  directory: Directory,
  { keys, own, scopeUses, createMember, noteSignOutFailure: noteFailure }: OauthPorts,
) {
  const { people, browserSessions, notices } = directory
  const { database, noteEvent, now, sweeps } = platform
  const { lifetimes, furtherPlans, loopbackHosts, metadataDocuments } = service
  const { privateKeyJwt } = furtherPlans
  const policy = { metadataDocuments, loopbackHosts, privateKeyJwt, copies: documentCopies }
  const documents = makeDocumentClients(policy, platform)
  const { networkKey, tokenKeys, cookieKeys, formKey } = keys.secretRoot
  const clients = makeClients(platform, { integrations, service }, { networkKey, documents, own })
  // The clients of the conformance suite count as configured platforms. Otherwise, their grants would be invalid.
  const platforms = [integrations, conformance?.clients ?? []].flat()
  const integrationIds = new Set(platforms.map(({ client_id }) => client_id))
  const admitted = { integrations: integrationIds, admitsOrigin: clients.admitsOrigin }
  const grants = makeGrants(platform, admitted, lifetimes, notices)
  const { findGrant } = grants
  const proofs = makeProofs(baseUrl, furtherPlans, keys.secretRoot, platform)
  const tokens = makeTokens({ findGrant, keys: tokenKeys, lifetimes })
  const signOuts = furtherPlans.backChannelLogout
    ? makeSignOuts({ database, findGrant, noteFailure, sweeps, now })
    : undefined
  const requestLengths = service.authorizationRequests
  const authorization = await makeAuthorizationServer(
    platform,
    {
      people,
      browserSessions,
      clients,
      documents,
      grants,
      tokens,
      proofs,
      signOuts,
      cookieKeys,
      formKey,
      baseUrl,
      lifetimes,
      furtherPlans,
      requestLengths,
      connectionPrefixes: assistants.flatMap(({ connections }) => connections),
      changeableAreas: scopeUses.changeableAreas,
    },
    conformance,
  )
  const registrationPolicy = { baseUrl, loopbackHosts, metadataDocuments, integrations }
  const everySeconds = service.storage.signOutLookMs / 1000
  return {
    tasks: signOuts ? [signOuts.task(everySeconds)] : [],
    noticeHandler: signOuts?.handler(authorization.sendSignOut),
    grants,
    tokens,
    authorization,
    signOuts,
    /** Whether the configuration accepts metadata documents from at least one host or URL. */
    acceptsDocuments: documents.enabled,
    keepConfiguredDocument: documents.keepConfigured,
    findClientName: async (clientId: string) => (await clients.find(clientId))?.name,
    checkDpop: proofs.checkDpop,
    verifyAssertion: proofs.verifyAssertionWith(authorization.findClientKeys),
    adviseOnScopes: makeScopeAdvice(clients, baseUrl),
    /** Creates the engine with these keys, and the routes for sign-in, site choice and consent. */
    withKeys(ring: Parameters<typeof authorization.withKeys>[0]) {
      const { engine, interactions } = authorization.withKeys(ring)
      const asks = {
        directory,
        interactions,
        database,
        createMember,
        visitors: makeVisitorForms({ baseUrl, formKey }),
        seals: keys.secretRoot,
        formKey,
        scopeUses,
        noteEvent,
        now,
      }
      return { engine, pages: interactionRoutes(asks) }
    },
    registrationRoutes: registrationRoutes({ policy: registrationPolicy, clients, noteEvent }),
  }
}
