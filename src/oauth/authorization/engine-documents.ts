import { type Configuration, Provider } from 'oidc-provider'

import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import { toClientMetadata } from '../clients/client-metadata.ts'
import type { DocumentClients } from '../clients/document-clients.ts'

/**
 * How the engine's Client ID Metadata Documents and our copies of them work together.
 *
 * The client store answers first, with the copy (engine-adapter.ts). Only at the authorization
 * endpoint, and only when the copy is not fresh, the engine fetches, which gives the request its time
 * limit. What it is handed as the document is the client as our store would
 * show it, so that nothing of the document itself reaches the engine, and neither a scope nor one
 * of our own properties can be forged in it.
 */
export interface DocumentResolution {
  /** False keeps the feature off, and out of the discovery documents. */
  readonly enabled: boolean
  readonly documents: DocumentClients
  /** Sends a request, to no private address. */
  readonly fetch: SendOutgoing
}

/** Whether the running request may wait for a document: one for an authorization may, one for a token may not. */
export function mayFetchDocument(): boolean {
  const route = Provider.ctx?.oidc?.route
  return route === 'authorization' || route === 'pushed_authorization_request'
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

/** What the engine is given for a document. Its options carry the time limit. */
export async function resolveDocument(
  address: string,
  options: RequestInit | undefined,
  { documents, fetch }: DocumentResolution,
): Promise<Response> {
  const client = await documents.resolve(address, async () => await fetch(address, options))
  return Response.json(toClientMetadata(client))
}
