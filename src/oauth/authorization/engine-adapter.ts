import type { Adapter, AdapterFactory } from 'oidc-provider'

import { grantAdapter } from '../consent/engine-grant.ts'
import type { FindGrant } from '../grants/access.ts'
import type { FindAllowed } from '../grants/find-allowed.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { type AccessTokenAdapterDependencies, accessTokenAdapter } from '../token/access-token.ts'
import type { Exchange } from '../token/authorization-code.ts'
import { refreshTokenAdapter } from '../token/refresh-token-record.ts'
import type { FindRefreshToken, RefreshTokenLifetimes } from '../token/refresh-token-use.ts'
import type { Resources } from '../token/resource-indicators.ts'
import { type ClientDependencies, clientFinder } from './engine-clients.ts'
import { type SessionDependencies, sessionAdapter } from './engine-sessions.ts'
import { PUSHED_REQUEST, pushedRequestAdapter } from './pushed-requests.ts'

export interface EngineAdapterDependencies
  extends Omit<AccessTokenAdapterDependencies, 'grants'>,
    ClientDependencies,
    SessionDependencies {
  readonly findGrant: FindGrant
  readonly findAllowed: FindAllowed
  readonly findRefreshToken: FindRefreshToken
  readonly exchange: Pick<Exchange, 'codeAdapter'>
  readonly grants: Pick<GrantStore, 'end'>
  readonly lifetimes: RefreshTokenLifetimes & SessionDependencies['lifetimes']
  readonly resources: Resources
}

/**
 * What the engine stores and finds, with rules of ours around it: clients come from the client store,
 * grants and tokens from the database, and a code is used up by the family that it begins. It reads the
 * running request through the documented `Provider.ctx` only.
 */
export function engineAdapter(dependencies: EngineAdapterDependencies): AdapterFactory {
  return (model) => ({
    ...dependencies.state.adapterFor(model),
    // Tokens end with their grant or their family, and are looked up by neither.
    revokeByGrantId: async () => {},
    consume: async () => {
      throw new Error(`a record of the model ${model} is not consumed`)
    },
    ...rulesOf(model, dependencies),
  })
}

function rulesOf(model: string, dependencies: EngineAdapterDependencies): Partial<Adapter> {
  const { state, findGrant, findAllowed, grants, findRefreshToken } = dependencies
  const { lifetimes, exchange, now } = dependencies
  const records = state.adapterFor(model)
  switch (model) {
    case 'Client':
      return { find: clientFinder(dependencies) }
    case 'Grant':
      return grantAdapter(findGrant, findAllowed, grants)
    case 'AccessToken':
      return accessTokenAdapter(records, dependencies)
    case 'AuthorizationCode':
      return exchange.codeAdapter(records)
    case PUSHED_REQUEST:
      return pushedRequestAdapter(records, dependencies.resources)
    case 'Session':
      return sessionAdapter(records, dependencies)
    case 'RefreshToken':
      return refreshTokenAdapter(findRefreshToken, lifetimes, now)
    default:
      return {}
  }
}
