import type { Middleware } from 'koa'
import type Router from 'koa-router'
import type { JWK, Provider } from 'oidc-provider'

import { paths } from '../http/paths.ts'
import { bearerTokens } from '../token/bearer-tokens.ts'
import { makeJudge } from '../token/introspection.ts'
import { makeResources } from '../token/resource-indicators.ts'
import { authorizationRequests } from './authorize-requests.ts'
import { type ConformanceSettings, makeConformanceProfile } from './conformance-profile.ts'
import { type EnginePorts, makeEngine } from './engine.ts'
import { engineAnswers } from './engine-answers.ts'
import { makeInteractions } from './interactions.ts'

export interface AuthorizationPorts extends Omit<EnginePorts, 'resources' | 'conformance'> {
  /** Present while the conformance profile is on. */
  readonly conformance: ConformanceSettings | undefined
  /** Address of the protected-resource metadata, for challenges (RFC 9728 §5.1). */
  readonly resourceMetadataUrl: string
}

/** The authorization server: the certified engine, and what stands before it and after it. */
export interface AuthorizationServer {
  /** Changes answers of the engine on their way out. */
  readonly answers: Middleware
  /** Changes requests on their way in. */
  readonly requests: Router
  withKeys(keys: readonly JWK[]): EngineParts
}

/** What is made again when the keys change. */
export interface EngineParts {
  /** Itself a Koa application, which answers whatever no route before it has answered. */
  readonly engine: Provider
  readonly interactions: ReturnType<typeof makeInteractions>
  readonly tokens: ReturnType<typeof bearerTokens>
}

export async function makeAuthorizationServer(
  ports: AuthorizationPorts,
): Promise<AuthorizationServer> {
  const { baseUrl, resourceMetadataUrl, state, logger } = ports
  const conformance = ports.conformance && (await makeConformanceProfile(ports.conformance))
  if (conformance) logger.warn('the conformance profile is on: its clients need no PKCE')
  const resources = makeResources(baseUrl, [paths.mcp, paths.graphql])
  return {
    answers: engineAnswers({ resourceMetadataUrl }),
    requests: authorizationRequests(resources, conformance),
    withKeys(keys) {
      const engine = makeEngine({ ...ports, resources, conformance }, keys)
      const judge = makeJudge(ports.findAccess, ports.countUse)
      const interactions = makeInteractions(engine)
      return { engine, interactions, tokens: bearerTokens(engine, judge, state) }
    },
  }
}
