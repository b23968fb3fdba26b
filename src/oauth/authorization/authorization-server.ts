import type { JWK } from 'oidc-provider'

import type { Platform } from '../../platform/platform.ts'
import { EngineKey } from '../keys/engine-key.ts'
import { registerRefreshGrant } from '../token/refresh-token.ts'
import { authorizationRequests } from './authorize-requests.ts'
import { type ConformanceSettings, makeConformanceProfile } from './conformance-profile.ts'
import { engineAdapter } from './engine-adapter.ts'
import { engineAnswers } from './engine-answers.ts'
import { makeCurrentEngine } from './engine-clients.ts'
import { type AuthorizationServerParts, makeEngineDependencies } from './engine-dependencies.ts'
import { makeInteractions } from './engine-interactions.ts'
import { createProvider } from './provider.ts'

/**
 * Creates the authorization server: engine, routes, and the middleware for its responses.
 *
 * @param suite settings of the conformance suite; undefined if the conformance profile is off
 */
export async function makeAuthorizationServer(
  platform: Platform,
  parts: AuthorizationServerParts,
  suite: ConformanceSettings | undefined,
) {
  const conformance = suite && (await makeConformanceProfile(suite, parts.furtherPlans))
  if (conformance) platform.logger.warn('the conformance profile is on: its clients may omit PKCE')
  const dependencies = makeEngineDependencies(platform, parts, conformance)
  const { exchange, findKeptClient } = dependencies
  const adapter = engineAdapter(dependencies)
  const current = makeCurrentEngine(dependencies)
  return {
    /** Middleware that changes the engine's responses. */
    answers: engineAnswers(exchange.firstTokens),
    /** Finds a client by id, including clients of the conformance suite. */
    findClient: async (clientId: string, version?: number) =>
      conformance?.findClient(clientId) ?? (await findKeptClient(clientId, version))?.client,
    sendSignOut: current.sendSignOut,
    findClientKeys: current.findClientKeys,
    renewSession: current.renewSession,
    conformance,
    /** Routes that change or reject browser requests before the engine reads them. */
    requests: authorizationRequests(dependencies),
    /**
     * Creates the engine and the functions for its interactions. Called again when the keys change, because the engine
     * accepts keys only at creation. Takes about a millisecond.
     */
    withKeys(keys: readonly JWK[]) {
      const signing = keys.map((key) => new EngineKey(key))
      const engine = createProvider(dependencies, adapter, signing)
      current.follow(engine)
      registerRefreshGrant(engine, dependencies)
      return { engine, interactions: makeInteractions(engine, dependencies) }
    },
  }
}
