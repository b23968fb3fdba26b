import { AsyncLocalStorage } from 'node:async_hooks'

import { decodeJwt, type JSONWebKeySet } from 'jose'
import { type Adapter, type Configuration, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import { refuseBusyClient } from '../../platform/limits/charge-requests.ts'
import type { OutgoingInit } from '../../platform/outgoing/guarded-fetch.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { type EngineClient, toClientMetadata } from '../clients/client-metadata.ts'
import { fetchBounds, makeFetchGovernor } from '../clients/fetch-governor.ts'
import type { DocumentResolution, EngineDependencies } from './engine-dependencies.ts'

/** The engine's name of the model of pushed requests. */
export const PUSHED_REQUEST = 'PushedAuthorizationRequest'

const asksPerson: ReadonlySet<string> = new Set([
  'authorization',
  'resume',
  'pushed_authorization_request',
])

/** Clients as the engine sees them. It reads the running request through `Provider.ctx` only. */
export function clientFinder(dependencies: EngineDependencies): Adapter['find'] {
  const { clients, platform } = dependencies
  const findPushed = platform.state.adapterFor(PUSHED_REQUEST).find
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
  { findKeptClient, readTokenRequest, platform }: EngineDependencies,
) {
  refuseBusyClient(ctx, platform.requestLimits, clientId)
  const facts =
    ctx.oidc.route === 'token' ? (await readTokenRequest(ctx, clientId)).facts : undefined
  return (await findKeptClient(clientId, facts?.callerVersion))?.metadata
}

/** Whether the running request may wait for a metadata document: authorization may, the token endpoint may not. */
function mayFetchDocument(): boolean {
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

/** The engine's feature, which is advertised exactly when it is on. */
export function documentFeature({ enabled, documents }: DocumentResolution) {
  return {
    enabled,
    ack: 'draft-02',
    allowFetch: async (_ctx: unknown, clientId: string) =>
      mayFetchDocument() && (await documents.admits(clientId)),
    allowClient: async (_ctx: unknown, { clientId }: { clientId: string }) =>
      await documents.admits(clientId),
    // The engine keeps nothing: a copy of its own would not know of a review.
    cacheDuration: { min: 0, max: 0 },
  } satisfies NonNullable<Configuration['features']>['clientIdMetadataDocument']
}

const KEY_SET_BYTES_MAX = 65_536
/** How long the keys of a client are used before its address is asked again, whatever it says. */
const KEYS_FRESH_SECONDS_MAX = 600

/**
 * How often keys are requested. An operator entered every address, and each is asked again after a minute at
 * the earliest, so that only a host that fails causes many requests: they keep no other client from its keys.
 */
const keyBounds = { ...fetchBounds, runningMax: 64, perMinuteMax: 1200 }

/**
 * Every request that the engine sends: for a metadata document, and to the server of a client that an
 * operator entered. All pass the guard against private addresses (platform/outgoing/guarded-fetch.ts), within
 * the engine's time limit; redirects are not followed. Requests for keys are counted, since strangers can
 * cause them; how many notices go out is decided where they wait (oauth/authorization/sign-outs.ts).
 */
export function engineRequests({
  documentResolution: { documents, fetch },
  furtherPlans,
  platform: { now },
}: EngineDependencies): Pick<Configuration, 'fetch' | 'fetchResponseBodyLimits'> {
  const governor = makeFetchGovernor(now, keyBounds)
  const ask = async (address: string, options: OutgoingInit) => {
    // The configuration names hosts of the deployment's own network.
    const privateAddress = furtherPlans.privateHosts.includes(new URL(address).host)
    return await fetch(address, { ...options, redirect: 'manual', privateAddress })
  }
  const askForKeys = async (address: string, options: OutgoingInit) => {
    const end = governor.begin(new URL(address).host)
    if (!end) throw new Error('too many requests were sent for the keys of clients')
    try {
      return boundedFreshness(await ask(address, options))
    } finally {
      end()
    }
  }
  return {
    async fetch(input, options) {
      const address = String(input)
      // The engine posts nothing but notices of sign-outs.
      if (options?.method === 'POST') return await withoutBody(await ask(address, options))
      if (isForKeys(address)) return await askForKeys(address, options ?? {})
      // The options carry the time limit.
      const client = await documents.resolve(address, async () => await fetch(address, options))
      return Response.json(toClientMetadata(client))
    },
    // The bound of a document is ours (document-clients.ts); a client says more than its document.
    fetchResponseBodyLimits: {
      'client_id metadata document': 65_536,
      jwks_uri: KEY_SET_BYTES_MAX,
    },
  }
}

/** A client answers a notice by its status only. */
async function withoutBody({ body, status }: Response): Promise<Response> {
  await body?.cancel()
  return new Response(null, { status })
}

/** A client may change its keys before the time that an earlier answer gave them. */
function boundedFreshness(response: Response): Response {
  const [, said = '0'] = /max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '') ?? []
  const headers = { 'cache-control': `max-age=${Math.min(Number(said), KEYS_FRESH_SECONDS_MAX)}` }
  return new Response(response.body, { status: response.status, headers })
}

const keyRequest = new AsyncLocalStorage<string>()

/** The keys of a client as the engine keeps them. */
interface KeyStore extends Iterable<JSONWebKeySet['keys'][number]> {
  refresh(): Promise<void>
}

/** The public keys of a client: of its set, or at its address, which the engine asks now and then. */
export async function keysOfClient(provider: Provider, clientId: string): Promise<JSONWebKeySet> {
  const client = await provider.Client.find(clientId)
  const keys = client?.['asymmetricKeyStore'] as KeyStore | undefined
  if (!client || !keys) return { keys: [] }
  await keyRequest.run(client.jwksUri ?? '', async () => await keys.refresh())
  return { keys: [...keys] }
}

/** Whether the engine asks this address for the keys of a client, and not for a document. */
function isForKeys(address: string): boolean {
  const client: EngineClient | undefined = Provider.ctx?.oidc?.client
  return address === (keyRequest.getStore() ?? client?.jwksUri)
}
