import type { Provider } from 'oidc-provider'
import type { Logger } from 'pino'

import { toClientMetadata } from '../clients/client-metadata.ts'
import { makeFindAccess } from '../grants/access.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { type ClaimsDependencies, makeFindAccount } from '../token/claims.ts'
import { registerRefreshGrant } from '../token/refresh-token.ts'
import { type EngineAdapterDependencies, engineAdapter } from './engine-adapter.ts'
import { logEngineEvents } from './engine-events.ts'
import { oncePerRequest } from './once-per-request.ts'
import { createProvider, type ProviderDependencies } from './provider.ts'

export interface EnginePorts
  extends Omit<ProviderDependencies, 'adapter' | 'keys' | 'findAccount' | 'findAccess' | 'grants'>,
    Omit<EngineAdapterDependencies, 'present' | 'grants'>,
    Pick<ClaimsDependencies, 'findPerson'> {
  readonly grants: GrantStore
  readonly logger: Logger
  readonly now: () => number
}

/**
 * The certified engine with our policy in it. It is made again for each ring of signing keys, because
 * it takes its keys at construction only; that costs about a millisecond. One look at a client and at
 * a grant serves all steps of a request.
 */
export function engineMaker(ports: EnginePorts): (keys: ProviderDependencies['keys']) => Provider {
  const { state, grants, resources, lifetimes, now } = ports
  const findGrant = oncePerRequest(ports.findGrant)
  const findAccess = makeFindAccess(findGrant, now)
  const clients = { find: oncePerRequest(ports.clients.find) }
  const refreshTokens = state.adapterFor('RefreshToken')
  return (keys) => {
    const engine = createProvider({
      ...ports,
      findGrant,
      findAccess,
      adapter: engineAdapter({ ...ports, clients, findGrant, present: toClientMetadata }),
      keys,
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
    return engine
  }
}
