import { type Adapter, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import { refuseBusyClient } from '../../platform/limits/client-requests.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { StateStore } from '../../platform/store/oauth-state.ts'
import { toClientMetadata } from '../clients/client-metadata.ts'
import type { ClientFinder } from '../clients/find-client.ts'
import type { FindKeptClient } from '../clients/kept-clients.ts'
import type { ReadTokenRequest } from '../token/token-request.ts'
import { mayFetchDocument } from './engine-documents.ts'
import { PUSHED_REQUEST, wantedAddress } from './pushed-requests.ts'

export interface ClientDependencies {
  readonly state: StateStore
  readonly clients: ClientFinder
  readonly findKeptClient: FindKeptClient
  readonly readTokenRequest: ReadTokenRequest
  readonly requestLimits: Limits
}

/** Clients as the engine is shown them. It reads the running request through `Provider.ctx` only. */
export function clientFinder(dependencies: ClientDependencies): Adapter['find'] {
  const { clients, state } = dependencies
  const findPushed = state.adapterFor(PUSHED_REQUEST).find
  return async (clientId) => {
    const { ctx } = Provider
    const route = ctx?.oidc?.route ?? ''
    if (ctx && /^(token|revocation)$/.test(route))
      return await findCaller(ctx, clientId, dependencies)
    // A request that goes on behind a page returns where it has wanted to from the beginning.
    const asks = /^(authorization|resume|pushed_authorization_request)$/.test(route)
    const returnsTo = asks && ctx ? await wantedAddress(ctx, findPushed) : undefined
    const client = await clients.find(clientId, mayFetchDocument(), returnsTo)
    // A deleted client keeps authenticating at the token endpoint, where its refresh tokens have to
    // be answered with invalid_grant; nobody is sent to an address that it once registered.
    const sendsPeople = /^(authorization|resume|pushed_authorization_request|end_session)/.test(
      route,
    )
    if (!client || (client.state === 'deleted' && sendsPeople)) return undefined
    return toClientMetadata(client)
  }
}

/** A client that authenticates. What a token request presents says whether what is kept is still true. */
async function findCaller(
  ctx: KoaContextWithOIDC,
  clientId: string,
  { findKeptClient, readTokenRequest, requestLimits }: ClientDependencies,
) {
  refuseBusyClient(ctx, requestLimits, clientId)
  const facts =
    ctx.oidc.route === 'token' ? (await readTokenRequest(ctx, clientId)).facts : undefined
  return (await findKeptClient(clientId, facts?.callerVersion))?.metadata
}
