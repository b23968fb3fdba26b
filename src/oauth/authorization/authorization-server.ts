import { type JWK, Provider } from 'oidc-provider'

import { listHeldSites } from '../../directory/sites/site-choice.ts'
import { paths } from '../../platform/http/paths.ts'
import type { Platform } from '../../platform/platform.ts'
import { makeKeptClients } from '../clients/find-client.ts'
import type { FindGrant } from '../grants/access.ts'
import { makeResources } from '../token/resource-indicators.ts'
import { makeTokenEndpoint } from '../token/token-endpoint.ts'
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
import { makeInteractions } from './interactions.ts'
import { createProvider } from './provider.ts'

/** The paths that clients may name as `resource`, besides the origin (design 3). */
const protectedPaths = [
  ...[paths.mcp, paths.mcpMember, paths.mcpAdmin],
  ...[paths.graphql, paths.adminGraphql],
]

/**
 * Builds the authorization server: the engine, the steps before it and the changes to its answers.
 *
 * @param suite the conformance suite, while the conformance profile is on
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
  const resources = makeResources(settings.baseUrl, protectedPaths)
  const clients = { ...parts.clients, find: oncePerRequest(parts.clients.find) }
  const grants = { ...parts.grants, findGrant: grantOncePerRequest(parts.grants.findGrant) }
  const shared = { ...settings, ...parts, platform, clients, grants, conformance, resources }
  const tokenEndpoint = makeTokenEndpoint(shared)
  const findKeptClient = makeKeptClients(clients, database, now)
  const dependencies: EngineDependencies = {
    ...shared,
    ...tokenEndpoint,
    findKeptClient,
    listHeldSites: oncePerRequest((personId: string, clientId?: string) =>
      listHeldSites(database, personId, clientId),
    ),
  }
  const adapter = engineAdapter(dependencies)
  const current = makeCurrentEngine(parts.signOuts)
  return {
    /** Changes the engine's answers. */
    answers: engineAnswers(tokenEndpoint.exchange.firstTokens),
    /** Finds a client that authenticates, including those of the conformance suite. */
    findClient: async (clientId: string, version?: number) =>
      conformance?.findClient(clientId) ?? (await findKeptClient(clientId, version))?.client,
    sendSignOut: current.sendSignOut,
    findClientKeys: current.findClientKeys,
    /** Claims for the suite's clients, while the conformance profile is on. */
    conformance,
    /** Changes requests of browsers before the engine reads them. */
    requests: authorizationRequests(resources, conformance, settings.requestLengths),
    /**
     * Creates the certified engine with our policy, a Koa application behind every surface. Called again for
     * each key ring, because the engine accepts keys at construction only; that takes about a millisecond.
     */
    withKeys(keys: readonly JWK[]) {
      const engine = createProvider(dependencies, { adapter, keys })
      current.follow(engine)
      tokenEndpoint.serveRefreshes(engine)
      return { engine, interactions: makeInteractions(engine, grants.store, clients) }
    },
  }
}

/** The answers of the running request; undefined outside a request. */
function makeAnswers<Answer>() {
  const byRequest = new WeakMap<object, Map<string, Promise<Answer>>>()
  return () => {
    const { ctx } = Provider
    if (!ctx) return undefined
    const known = byRequest.get(ctx) ?? new Map<string, Promise<Answer>>()
    byRequest.set(ctx, known)
    return known
  }
}

/**
 * Memoizes a look-up for the running request. Several steps need the same client or grant, and all must see
 * the same state. Nothing is kept for the next request.
 */
function oncePerRequest<Question extends (string | boolean | undefined)[], Answer>(
  ask: (...question: Question) => Promise<Answer>,
): (...question: Question) => Promise<Answer> {
  const answers = makeAnswers<Answer>()
  return async (...question) => {
    const key = JSON.stringify(question)
    const known = answers()
    const answer = known?.get(key) ?? ask(...question)
    known?.set(key, answer)
    return await answer
  }
}

/** Memoizes grants for the running request. A grant found with its family or client also answers for the grant alone. */
function grantOncePerRequest(find: FindGrant): FindGrant {
  const answers = makeAnswers<Awaited<ReturnType<FindGrant>>>()
  return async (question) => {
    const { grantId, familyId, callerId } = question
    const isPlain = familyId === undefined && callerId === undefined
    const key = isPlain ? `${grantId}` : JSON.stringify([grantId, familyId, callerId])
    const known = answers()
    const answer = known?.get(key) ?? find(question)
    known?.set(key, answer)
    const facts = await answer
    if (facts && known?.has(facts.grant.id) === false) known.set(facts.grant.id, answer)
    return facts
  }
}
