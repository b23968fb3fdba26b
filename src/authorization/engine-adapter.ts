import { type Adapter, type AdapterFactory, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import { toClientMetadata } from '../clients/client-metadata.ts'
import type { ClientFinder } from '../clients/find-client.ts'
import type { FindKeptClient } from '../clients/kept-clients.ts'
import type { FindGrant } from '../grants/access.ts'
import type { FindAllowed } from '../grants/find-allowed.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { StateStore } from '../store/oauth-state.ts'
import { type AccessTokenAdapterDependencies, accessTokenAdapter } from '../token/access-token.ts'
import type { Exchange } from '../token/authorization-code.ts'
import { refreshTokenAdapter } from '../token/refresh-token-record.ts'
import type { FindRefreshToken, RefreshTokenLifetimes } from '../token/refresh-token-use.ts'
import type { ReadTokenRequest } from '../token/token-request.ts'
import { mayFetchDocument } from './engine-documents.ts'
import { grantAdapter } from './engine-grant.ts'

export interface EngineAdapterDependencies extends Omit<AccessTokenAdapterDependencies, 'grants'> {
  readonly state: StateStore
  readonly clients: ClientFinder
  readonly findKeptClient: FindKeptClient
  readonly findGrant: FindGrant
  readonly findAllowed: FindAllowed
  readonly readTokenRequest: ReadTokenRequest
  readonly findRefreshToken: FindRefreshToken
  readonly exchange: Pick<Exchange, 'codeAdapter'>
  readonly grants: Pick<GrantStore, 'end'>
  readonly lifetimes: RefreshTokenLifetimes
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
    case 'RefreshToken':
      return refreshTokenAdapter(findRefreshToken, lifetimes, now)
    default:
      return {}
  }
}

function clientFinder(dependencies: EngineAdapterDependencies): Adapter['find'] {
  const { clients } = dependencies
  return async (clientId) => {
    const { ctx } = Provider
    const route = ctx?.oidc?.route ?? ''
    if (ctx && /^(token|revocation)$/.test(route))
      return await findCaller(ctx, clientId, dependencies)
    // A request that goes on behind a page returns where it has wanted to from the beginning.
    const wanted = /^(authorization|resume)$/.test(route) && ctx?.oidc.params?.['redirect_uri']
    const returnsTo = typeof wanted === 'string' ? wanted : undefined
    const client = await clients.find(clientId, mayFetchDocument(), returnsTo)
    // A deleted client keeps authenticating at the token endpoint, where its refresh tokens have to
    // be answered with invalid_grant; nobody is sent to an address that it once registered.
    const sendsPeople = /^(authorization|resume|end_session)/.test(route)
    if (!client || (client.state === 'deleted' && sendsPeople)) return undefined
    return toClientMetadata(client)
  }
}

/** A client that authenticates. What a token request presents says whether what is kept is still true. */
async function findCaller(
  ctx: KoaContextWithOIDC,
  clientId: string,
  { findKeptClient, readTokenRequest }: EngineAdapterDependencies,
) {
  const facts =
    ctx.oidc.route === 'token' ? (await readTokenRequest(ctx, clientId)).facts : undefined
  return (await findKeptClient(clientId, facts?.callerVersion))?.metadata
}
