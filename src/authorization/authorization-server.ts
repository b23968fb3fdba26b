import type { Middleware } from 'koa'
import type Router from 'koa-router'
import type { Provider } from 'oidc-provider'

import { paths } from '../http/paths.ts'
import type { KeyRing } from '../keys/signing-keys.ts'
import { listHeldSites } from '../sites/site-choice.ts'
import type { Database } from '../store/database.ts'
import { makeResources } from '../token/resource-indicators.ts'
import { authorizationRequests } from './authorize-requests.ts'
import { type ConformanceSettings, makeConformanceProfile } from './conformance-profile.ts'
import { type EnginePorts, engineMaker } from './engine.ts'
import { engineAnswers } from './engine-answers.ts'
import { makeInteractions } from './interactions.ts'

type Made = 'resources' | 'conformance' | 'listHeldSites'

export interface AuthorizationServerPorts extends Omit<EnginePorts, Made> {
  readonly database: Database
  /** Present while the conformance profile is on. */
  readonly conformance: ConformanceSettings | undefined
  /** Address of the protected-resource metadata, for challenges (RFC 9728 §5.1). */
  readonly resourceMetadataUrl: string
}

/** The authorization server: the engine, and what stands before it and after it. */
export interface AuthorizationServer {
  /** What happens to the answers of the engine on their way out. */
  readonly answers: Middleware
  /** What happens to the requests of a browser before the engine reads them. */
  readonly requests: Router
  withKeys(ring: KeyRing): EngineParts
}

/** What is made again when the keys change. */
export interface EngineParts {
  /** The Koa application that every surface is put in front of. */
  readonly engine: Provider
  readonly interactions: ReturnType<typeof makeInteractions>
}

export async function makeAuthorizationServer(
  ports: AuthorizationServerPorts,
): Promise<AuthorizationServer> {
  const { baseUrl, resourceMetadataUrl, database, grants, logger } = ports
  const conformance = ports.conformance && (await makeConformanceProfile(ports.conformance))
  if (conformance) logger.warn('the conformance profile is on: its clients need no PKCE')
  const resources = makeResources(baseUrl, [paths.mcp, paths.graphql])
  const makeEngine = engineMaker({
    ...ports,
    resources,
    conformance,
    listHeldSites: (personId) => listHeldSites(database, personId),
  })
  return {
    answers: engineAnswers({ resourceMetadataUrl }),
    requests: authorizationRequests(resources, conformance),
    withKeys(ring) {
      const engine = makeEngine(ring.keys)
      return { engine, interactions: makeInteractions(engine, grants) }
    },
  }
}
