import type { Provider } from 'oidc-provider'

import type { StateStore } from '../../platform/store/oauth-state.ts'
import type { FindGrant } from '../grants/access.ts'
import { type ExchangeDependencies, makeExchange } from './authorization-code.ts'
import { type RefreshDependencies, registerRefreshGrant } from './refresh-token.ts'
import { makeReadTokenRequest } from './token-request.ts'

export type TokenEndpointPorts = Omit<
  ExchangeDependencies & RefreshDependencies,
  'readTokenRequest'
> & {
  readonly state: StateStore
  /** Looks at each grant of a request once. */
  readonly findGrant: FindGrant
}

/** What the token endpoint does: exchanges are the engine's with ours around them, refreshes are ours. */
export function makeTokenEndpoint({ findGrant, ...ports }: TokenEndpointPorts) {
  const codes = ports.state.adapterFor('AuthorizationCode')
  const readTokenRequest = makeReadTokenRequest({ ...ports, codes, findGrant })
  const dependencies = { ...ports, readTokenRequest }
  return {
    readTokenRequest,
    exchange: makeExchange(dependencies),
    serveRefreshes: (engine: Provider) => registerRefreshGrant(engine, dependencies),
  }
}
