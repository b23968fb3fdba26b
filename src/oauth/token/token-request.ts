import type { AdapterPayload, KoaContextWithOIDC } from 'oidc-provider'

import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { canBeClientId } from '../clients/client.ts'
import type { AccessFacts, FindGrant } from '../grants/access.ts'
import type { FindRefreshToken, FoundRefreshToken } from './refresh-token-use.ts'
import { familyOfCode } from './token-values.ts'

/** What comes with a token request, and everything that is known of it. */
export interface TokenRequest {
  /** The record of the code. */
  readonly code?: AdapterPayload | undefined
  readonly refreshToken?: FoundRefreshToken | undefined
  /** Of its grant, and of the client that asks; nothing when there is no such code or family. */
  readonly facts?: AccessFacts | undefined
}

/** Reads what comes with a token request; the first to ask says which client it is. */
export type ReadTokenRequest = (ctx: KoaContextWithOIDC, callerId?: string) => Promise<TokenRequest>

export interface TokenRequestDependencies {
  readonly codes: Pick<StateAdapter, 'find'>
  readonly findGrant: FindGrant
  readonly findRefreshToken: FindRefreshToken
}

/**
 * Looks up at once what the steps of a token request need, before the first of them: the code where
 * there is one, and then, with one query, its grant, person, roles, family and the version of the
 * client that is being authenticated. So the whole request reads each store once.
 */
export function makeReadTokenRequest(dependencies: TokenRequestDependencies): ReadTokenRequest {
  const known = new WeakMap<object, Promise<TokenRequest>>()
  return async (ctx, callerId) => {
    const asks = canBeClientId(callerId ?? '') ? callerId : undefined
    const looked = known.get(ctx) ?? look(ctx.oidc.params ?? {}, asks, dependencies)
    known.set(ctx, looked)
    return await looked
  }
}

async function look(
  params: Readonly<Record<string, unknown>>,
  callerId: string | undefined,
  { codes, findGrant, findRefreshToken }: TokenRequestDependencies,
): Promise<TokenRequest> {
  const { grant_type, code: value, refresh_token } = params
  if (grant_type === 'authorization_code' && typeof value === 'string') {
    const code = await codes.find(value)
    if (!code?.grantId) return { code }
    const familyId = familyOfCode(value)
    return { code, facts: await findGrant({ grantId: code.grantId, familyId, callerId }) }
  }
  if (grant_type !== 'refresh_token' || typeof refresh_token !== 'string') return {}
  const found = await findRefreshToken(refresh_token, callerId)
  return { refreshToken: found, facts: found?.facts }
}
