import type { StateStore } from '../../platform/store/oauth-state.ts'
import type { FindGrant } from '../grants/access.ts'
import { type AccessTokens, makeAccessTokens } from './access-token.ts'
import { type FindRefreshToken, makeFindRefreshToken } from './refresh-token-use.ts'
import { makeTokenValues, type TokenValues } from './token-values.ts'

export interface TokenPorts {
  readonly state: StateStore
  /** Looks anew at every call, as a refresh does when another one was quicker. */
  readonly findGrant: FindGrant
  /** Keys that authenticate tokens, the current one first. */
  readonly keys: readonly Buffer[]
  readonly accessTokenSeconds: number
  readonly refreshRetrySeconds: number
}

/** How tokens are made, and found again. */
export interface Tokens {
  readonly values: TokenValues
  readonly accessTokens: AccessTokens
  readonly findRefreshToken: FindRefreshToken
}

export function makeTokens({ state, keys, ...ports }: TokenPorts): Tokens {
  const values = makeTokenValues(keys)
  // Where version 0.1.0 kept its tokens.
  const former = (model: string) => state.adapterFor(model)
  return {
    values,
    accessTokens: makeAccessTokens({ ...ports, values, former: former('AccessToken') }),
    findRefreshToken: makeFindRefreshToken({ ...ports, values, former: former('RefreshToken') }),
  }
}
