import { type JWK, Provider } from 'oidc-provider'

import { makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import { makeVisitorForms } from '../../platform/http/page-form.ts'
import { paths } from '../../platform/http/paths.ts'
import type { Platform } from '../../platform/platform.ts'
import { makeKeptClients } from '../clients/find-client.ts'
import type { FindGrant } from '../grants/judge-access.ts'
import { EngineKey } from '../keys/engine-key.ts'
import { makeExchange, makeReadTokenRequest } from '../token/authorization-code.ts'
import { registerRefreshGrant } from '../token/refresh-token.ts'
import { makeResources } from '../token/resource-indicators.ts'
import { authorizationRequests } from './authorize-requests.ts'
import { type ConformanceSettings, makeConformanceProfile } from './conformance-profile.ts'
import { engineAdapter } from './engine-adapter.ts'
import { engineAnswers } from './engine-answers.ts'
import { makeCurrentEngine } from './engine-clients.ts'
import type {
  AuthorizationServerParts,
  AuthorizationServerSettings,
  EngineDependencies,
} from './engine-dependencies.ts'
import { makeInteractions } from './engine-interactions.ts'
import { createProvider } from './provider.ts'

/** Paths of the URLs that clients may send as `resource`, in addition to the origin (design 3). */
const protectedPaths = [
  ...[paths.mcp, paths.mcpMember, paths.mcpAdmin],
  ...[paths.graphql, paths.adminGraphql],
]

/**
 * Creates the authorization server: engine, routes, and the middleware for its responses.
 *
 * @param suite settings of the conformance suite; undefined if the conformance profile is off
 */
export async function makeAuthorizationServer(
  platform: Platform,
  parts: AuthorizationServerParts,
  settings: AuthorizationServerSettings,
  suite: ConformanceSettings | undefined,
) {
  const { database, logger, now } = platform
  const conformance = suite && (await makeConformanceProfile(suite, settings.furtherPlans))
  if (conformance) logger.warn('the conformance profile is on: its clients need no PKCE')
  const resources = makeResources(settings.baseUrl, protectedPaths, settings.changeableAreas)
  const clients = { ...parts.clients, find: oncePerRequest(parts.clients.find) }
  const grants = { ...parts.grants, findGrant: grantOncePerRequest(parts.grants.findGrant) }
  const shared = { ...settings, ...parts, platform, clients, grants, conformance, resources }
  const tokenRequests = { ...shared, readTokenRequest: makeReadTokenRequest(shared) }
  const findKeptClient = makeKeptClients(clients, database, now)
  const dependencies: EngineDependencies = {
    ...tokenRequests,
    exchange: makeExchange(tokenRequests),
    findKeptClient,
    visitors: makeVisitorForms({ ...settings, ...parts }),
    listHeldSites: oncePerRequest(makeFindHeldSites(database)),
  }
  const adapter = engineAdapter(dependencies)
  const current = makeCurrentEngine(dependencies)
  return {
    /** Middleware that changes the engine's responses. */
    answers: engineAnswers(dependencies.exchange.firstTokens),
    /** Finds a client by id, including clients of the conformance suite. */
    findClient: async (clientId: string, version?: number) =>
      conformance?.findClient(clientId) ?? (await findKeptClient(clientId, version))?.client,
    sendSignOut: current.sendSignOut,
    findClientKeys: current.findClientKeys,
    renewSession: current.renewSession,
    conformance,
    /** Routes that change or reject browser requests before the engine reads them. */
    requests: authorizationRequests(resources, conformance, settings.requestLengths),
    /**
     * Creates the engine and the functions for its interactions. Called again when the keys change, because the engine
     * accepts keys only at creation. Takes about a millisecond.
     */
    withKeys(keys: readonly JWK[]) {
      const signing = keys.map((key) => new EngineKey(key))
      const engine = createProvider(dependencies, adapter, signing)
      current.follow(engine)
      registerRefreshGrant(engine, tokenRequests)
      return { engine, interactions: makeInteractions(engine, dependencies) }
    },
  }
}

/** Creates a getter for the memoized results of the current request. It returns undefined outside a request. */
function makeRequestMemo<Answer>() {
  const byRequest = new WeakMap<object, Map<string, Promise<Answer>>>()
  return () => {
    const { ctx } = Provider
    if (!ctx) return undefined
    const known = byRequest.get(ctx) ?? new Map<string, Promise<Answer>>()
    byRequest.set(ctx, known)
    return known
  }
}

/** Memoizes a lookup per request. All checks of a request must see the same state. */
function oncePerRequest<Question extends (string | boolean | undefined)[], Answer>(
  ask: (...question: Question) => Promise<Answer>,
): (...question: Question) => Promise<Answer> {
  const memo = makeRequestMemo<Answer>()
  return async (...question) => {
    const key = JSON.stringify(question)
    const known = memo()
    const answer = known?.get(key) ?? ask(...question)
    known?.set(key, answer)
    return await answer
  }
}

/** Memoizes grants per request. A grant found by a family or code can then be found by its id without a query. */
function grantOncePerRequest(find: FindGrant): FindGrant {
  const memo = makeRequestMemo<Awaited<ReturnType<FindGrant>>>()
  return async (question) => {
    const { grantId, familyId, codeId, callerId } = question
    const key = grantId ?? JSON.stringify([familyId, codeId, callerId])
    const known = memo()
    const answer = known?.get(key) ?? find(question)
    known?.set(key, answer)
    const facts = await answer
    if (facts && known?.has(facts.grant.id) === false) known.set(facts.grant.id, answer)
    return facts
  }
}
