import type { JWK, Provider } from 'oidc-provider'
import type { Logger } from 'pino'

import { toClientMetadata } from '../clients/client-metadata.ts'
import { makeGrantStore } from '../grants/grant-store.ts'
import { listHeldSites } from '../sites/site-choice.ts'
import type { Database } from '../store/database.ts'
import { type AccountDependencies, accessQuestion, makeFindAccount } from '../token/claims.ts'
import { makeJudge } from '../token/introspection.ts'
import { registerRefreshGrant } from '../token/refresh-token.ts'
import { type EngineAdapterDependencies, engineAdapter } from './engine-adapter.ts'
import { logEngineEvents } from './engine-events.ts'
import { createProvider, type ProviderDependencies } from './provider.ts'

type Settings = 'baseUrl' | 'cookieKeys' | 'lifetimes' | 'resources' | 'conformance' | 'now'

/** What the engine is given besides its keys. */
export interface EnginePorts
  extends Pick<ProviderDependencies, Settings | 'documentResolution'>,
    Pick<EngineAdapterDependencies, 'state' | 'clients'>,
    Pick<AccountDependencies, 'findPerson' | 'findAccess' | 'countUse'> {
  readonly database: Database
  readonly logger: Logger
}

/**
 * The engine with everything of ours in it. It takes its keys at construction only, so that it is
 * made again when they change; that costs about a millisecond.
 */
export function makeEngine(ports: EnginePorts, keys: readonly JWK[]): Provider {
  const { database, state, resources, findAccess, countUse, lifetimes, now } = ports
  const engine = createProvider({
    ...ports,
    keys,
    adapter: engineAdapter({
      ...ports,
      connections: makeGrantStore(database, now),
      present: toClientMetadata,
    }),
    findAccount: makeFindAccount(ports),
    judgeToken: makeJudge(findAccess, countUse),
    listHeldSites: (personId) => listHeldSites(database, personId),
  })
  const refreshTokens = state.adapterFor('RefreshToken')
  registerRefreshGrant({
    provider: engine,
    consumeOnce: (id, seed) => refreshTokens.consumeOnce(id, seed),
    resources,
    retrySeconds: lifetimes.refreshRetrySeconds,
    accessTokenSeconds: lifetimes.accessTokenSeconds,
    async findLoss(token) {
      const access = await findAccess(accessQuestion(token))
      return access.kind === 'lost' ? access.reason : undefined
    },
    now,
  })
  logEngineEvents(engine, ports.logger)
  return engine
}
