import type { Provider } from 'oidc-provider'

import type { StateAdapter, StateStore } from '../../platform/store/oauth-state.ts'
import { canBeClientId } from '../clients/client.ts'
import type { FindGrant } from '../grants/access.ts'
import {
  type ExchangeDependencies,
  makeExchange,
  type ReadTokenRequest,
  readCode,
  type TokenRequest,
} from './authorization-code.ts'
import { type RefreshDependencies, registerRefreshGrant } from './refresh-token.ts'
import { familyOfCode } from './token-values.ts'
import type { FindRefreshToken } from './tokens.ts'

export type TokenEndpointPorts = Omit<
  ExchangeDependencies & RefreshDependencies,
  'readTokenRequest'
> & {
  readonly state: StateStore
  /** Reads each grant once in a request. */
  readonly findGrant: FindGrant
}

/** What the token endpoint does: exchanges are the engine's with ours around them, refreshes are ours. */
export function makeTokenEndpoint(ports: TokenEndpointPorts) {
  const codes = ports.state.adapterFor('AuthorizationCode')
  const readTokenRequest = makeReadTokenRequest({ ...ports, codes })
  const dependencies = { ...ports, readTokenRequest }
  return {
    readTokenRequest,
    exchange: makeExchange(dependencies),
    serveRefreshes: (engine: Provider) => registerRefreshGrant(engine, dependencies),
  }
}

interface ReadingPorts {
  readonly codes: Pick<StateAdapter, 'find'>
  readonly findGrant: FindGrant
  readonly findRefreshToken: FindRefreshToken
}

/**
 * Reads at once what the steps of a token request need, before the first of them: the code where
 * there is one, and then, with one query, its grant, person, roles, family and the version of the
 * client that is being authenticated. So the whole request reads each store once.
 */
function makeReadTokenRequest(ports: ReadingPorts): ReadTokenRequest {
  const known = new WeakMap<object, Promise<TokenRequest>>()
  return async (ctx, callerId) => {
    const asks = canBeClientId(callerId ?? '') ? callerId : undefined
    const read = known.get(ctx) ?? readPresented(ctx.oidc.params ?? {}, asks, ports)
    known.set(ctx, read)
    return await read
  }
}

async function readPresented(
  params: Readonly<Record<string, unknown>>,
  callerId: string | undefined,
  { codes, findGrant, findRefreshToken }: ReadingPorts,
): Promise<TokenRequest> {
  const { grant_type, code: value, refresh_token } = params
  if (grant_type === 'authorization_code' && typeof value === 'string') {
    const record = await codes.find(value)
    if (!record) return {}
    const code = readCode(record)
    const familyId = familyOfCode(value)
    return { code, facts: await findGrant({ grantId: code.grantId, familyId, callerId }) }
  }
  if (grant_type !== 'refresh_token' || typeof refresh_token !== 'string') return {}
  const refreshToken = await findRefreshToken(refresh_token, callerId)
  return { refreshToken, facts: refreshToken }
}
