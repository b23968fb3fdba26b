import { AsyncLocalStorage } from 'node:async_hooks'

import type { JSONWebKeySet } from 'jose'
import { type Configuration, Provider } from 'oidc-provider'

import type { OutgoingInit, SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import { type EngineClient, toClientMetadata } from '../clients/client-metadata.ts'
import type { DocumentClients } from '../clients/document-clients.ts'
import { fetchBounds, makeFetchGovernor } from '../clients/fetch-governor.ts'
import { mayFetchDocument } from './engine-clients.ts'

export interface RequestDependencies {
  readonly documentResolution: DocumentResolution
  readonly furtherPlans: { readonly privateHosts: readonly string[] }
  readonly now: () => number
}

/**
 * How the engine's Client ID Metadata Documents and our copies of them work together.
 *
 * The client store answers first, with the copy (engine-clients.ts). Only at the authorization
 * endpoint, and only when the copy is not fresh, the engine fetches, which gives the request its time
 * limit. Instead of the document it gets the client as our store shows it, so that neither a scope nor one
 * of our own properties can be forged in a document.
 */
export interface DocumentResolution {
  /** False keeps the feature off, and out of the discovery documents. */
  readonly enabled: boolean
  readonly documents: DocumentClients
  /** Sends a request, to no private address. */
  readonly fetch: SendOutgoing
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
 * cause them; how many notices go out is decided where they wait (oauth/sign-outs/sign-outs.ts).
 */
export function engineRequests({
  documentResolution: { documents, fetch },
  furtherPlans,
  now,
}: RequestDependencies): Pick<Configuration, 'fetch' | 'fetchResponseBodyLimits'> {
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
