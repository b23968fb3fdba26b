import type { Provider } from 'oidc-provider'

import { canBeClientId } from '../clients/client.ts'
import {
  makeExchange,
  type ReadTokenRequest,
  readCode,
  type TokenEndpointParts,
  type TokenRequest,
} from './authorization-code.ts'
import { registerRefreshGrant } from './refresh-token.ts'
import { familyOfCode } from './token-values.ts'

/** Creates the parts of the token endpoint: our rules for the engine's code exchange, and our own refresh grant. */
export function makeTokenEndpoint(parts: TokenEndpointParts) {
  const readTokenRequest = makeReadTokenRequest(parts)
  const dependencies = { ...parts, readTokenRequest }
  return {
    readTokenRequest,
    exchange: makeExchange(dependencies),
    serveRefreshes: (engine: Provider) => registerRefreshGrant(engine, dependencies),
  }
}

/**
 * Creates the function that reads the code or refresh token of a token request. One query reads its grant, person,
 * roles and family, and the client's version. Later calls for the same request get the same result.
 */
function makeReadTokenRequest({ platform, grants, tokens }: TokenEndpointParts): ReadTokenRequest {
  const codes = platform.state.adapterFor('AuthorizationCode')
  const known = new WeakMap<object, Promise<TokenRequest>>()

  const readPresented = async (
    params: Readonly<Record<string, unknown>>,
    callerId: string | undefined,
  ): Promise<TokenRequest> => {
    const { grant_type, code: value, refresh_token } = params
    if (grant_type === 'authorization_code' && typeof value === 'string') {
      const record = await codes.find(value)
      if (!record) return {}
      const code = readCode(record)
      const familyId = familyOfCode(value)
      return { code, facts: await grants.findGrant({ grantId: code.grantId, familyId, callerId }) }
    }
    if (grant_type !== 'refresh_token' || typeof refresh_token !== 'string') return {}
    const refreshToken = await tokens.findRefreshToken(refresh_token, callerId)
    return { refreshToken, facts: refreshToken }
  }

  return async (ctx, callerId) => {
    const asks = canBeClientId(callerId ?? '') ? callerId : undefined
    const read = known.get(ctx) ?? readPresented(ctx.oidc.params ?? {}, asks)
    known.set(ctx, read)
    return await read
  }
}
