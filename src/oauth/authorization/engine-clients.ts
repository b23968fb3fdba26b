import { decodeJwt } from 'jose'
import { type Adapter, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import { refuseBusyClient } from '../../platform/limits/client-requests.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { StateAdapter, StateStore } from '../../platform/store/oauth-state.ts'
import { toClientMetadata } from '../clients/client-metadata.ts'
import type { ClientFinder, FindKeptClient } from '../clients/find-client.ts'
import type { ReadTokenRequest } from '../token/authorization-code.ts'

export interface ClientDependencies {
  readonly state: StateStore
  readonly clients: ClientFinder
  readonly findKeptClient: FindKeptClient
  readonly readTokenRequest: ReadTokenRequest
  readonly requestLimits: Limits
}

/** The engine's name of the model of pushed requests. */
export const PUSHED_REQUEST = 'PushedAuthorizationRequest'

const asksPerson: ReadonlySet<string> = new Set([
  'authorization',
  'resume',
  'pushed_authorization_request',
])

/** Clients as the engine sees them. It reads the running request through `Provider.ctx` only. */
export function clientFinder(dependencies: ClientDependencies): Adapter['find'] {
  const { clients, state } = dependencies
  const findPushed = state.adapterFor(PUSHED_REQUEST).find
  return async (clientId) => {
    const { ctx } = Provider
    const route = ctx?.oidc?.route ?? ''
    if (ctx && (route === 'token' || route === 'revocation')) {
      return await findCaller(ctx, clientId, dependencies)
    }
    // A request that resumes after a page returns to the address of its beginning.
    const returnsTo =
      ctx && asksPerson.has(route) ? await requestedAddress(ctx, findPushed) : undefined
    const client = await clients.find(clientId, mayFetchDocument(), returnsTo)
    // A deleted client keeps authenticating at the token endpoint, where its refresh tokens get
    // invalid_grant; but no person is sent to an address that it once registered.
    const sendsPeople = asksPerson.has(route) || route.startsWith('end_session')
    if (!client || (client.state === 'deleted' && sendsPeople)) return undefined
    return toClientMetadata(client)
  }
}

/**
 * A client that authenticates, unless it is busy. The query for what a token request presents also says
 * whether the kept client is still current.
 */
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

/** Whether the running request may wait for a metadata document: authorization may, the token endpoint may not. */
export function mayFetchDocument(): boolean {
  const route = Provider.ctx?.oidc?.route
  return route === 'authorization' || route === 'pushed_authorization_request'
}

/** What the name of a pushed request begins with (RFC 9126 §2.2); the engine has the same. */
const PUSHED_PREFIX = 'urn:ietf:params:oauth:request_uri:'

/**
 * Where a request wants to return, before the engine has read it: a platform whose callbacks a pattern
 * admits is found together with this address.
 */
async function requestedAddress(
  { oidc }: KoaContextWithOIDC,
  findPushed: StateAdapter['find'],
): Promise<string | undefined> {
  const pushes = oidc.route === 'pushed_authorization_request'
  const { redirect_uri: address, request_uri: name } = (pushes ? oidc.body : oidc.params) ?? {}
  if (typeof address === 'string') return address
  if (typeof name !== 'string' || !name.startsWith(PUSHED_PREFIX)) return undefined
  const request = (await findPushed(name.slice(PUSHED_PREFIX.length)))?.request
  const pushed = request === undefined ? undefined : decodeJwt(request)['redirect_uri']
  return typeof pushed === 'string' ? pushed : undefined
}
