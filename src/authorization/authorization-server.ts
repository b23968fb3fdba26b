import type Router from 'koa-router'
import type { Provider } from 'oidc-provider'
import type { Logger } from 'pino'

import { toClientMetadata } from '../clients/client-metadata.ts'
import { makeFindAccess } from '../grants/access.ts'
import type { KeyRing } from '../keys/signing-keys.ts'
import { type ClaimsDependencies, makeFindAccount } from '../token/claims.ts'
import { registerRefreshGrant } from '../token/refresh-token.ts'
import { makeResources } from '../token/resource-indicators.ts'
import { authorizationRequests } from './authorize-requests.ts'
import { type EngineAdapterDependencies, engineAdapter } from './engine-adapter.ts'
import { logEngineEvents } from './engine-events.ts'
import { makeInteractions } from './interactions.ts'
import { oncePerRequest } from './once-per-request.ts'
import { createProvider, type ProviderDependencies } from './provider.ts'

export interface AuthorizationServerPorts
  extends Omit<
      ProviderDependencies,
      'adapter' | 'keys' | 'resources' | 'findAccount' | 'findAccess' | 'grants'
    >,
    Omit<EngineAdapterDependencies, 'resources' | 'present' | 'grants'>,
    Pick<ClaimsDependencies, 'findPerson'> {
  /** Addresses below {base_url} that a `resource` parameter may name. */
  readonly protectedPaths: readonly string[]
  readonly grants: ProviderDependencies['grants'] & EngineAdapterDependencies['grants']
  readonly logger: Logger
  readonly now: () => number
}

export interface AuthorizationServer {
  /** The engine, which is the Koa application that every surface is put in front of. */
  readonly engine: Provider
  /** What happens to the requests of a browser before the engine reads them. */
  readonly requests: ReturnType<Router['routes']>
  readonly interactions: ReturnType<typeof makeInteractions>
}

/**
 * The authorization server: the certified engine with our policy in it. It is made again for each
 * ring of signing keys, because the engine takes its keys at construction only; that costs about a
 * millisecond. One look at a client and at a grant serves all steps of a request.
 */
export function makeAuthorizationServer(
  ports: AuthorizationServerPorts,
): (ring: KeyRing) => AuthorizationServer {
  const { state, grants, lifetimes, conformance, now } = ports
  const resources = makeResources(ports.baseUrl, ports.protectedPaths)
  const findGrant = oncePerRequest(ports.findGrant)
  const findAccess = makeFindAccess(findGrant, now)
  const clients = { find: oncePerRequest(ports.clients.find) }
  const refreshTokens = state.adapterFor('RefreshToken')
  const requests = authorizationRequests(resources, conformance).routes()
  return (ring) => {
    const engine = createProvider({
      ...ports,
      findGrant,
      findAccess,
      adapter: engineAdapter({
        ...ports,
        clients,
        findGrant,
        resources,
        present: toClientMetadata,
      }),
      keys: ring.keys,
      resources,
      findAccount: makeFindAccount({ ...ports, findAccess }),
    })
    registerRefreshGrant({
      provider: engine,
      consumeOnce: (id, seed) => refreshTokens.consumeOnce(id, seed),
      resources,
      retrySeconds: lifetimes.refreshRetrySeconds,
      accessTokenSeconds: lifetimes.accessTokenSeconds,
      findAccess,
      endGrant: grants.end,
      now,
    })
    logEngineEvents(engine, ports.logger)
    return { engine, requests, interactions: makeInteractions(engine, grants) }
  }
}
