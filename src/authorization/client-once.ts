import { Provider } from 'oidc-provider'

import type { Client } from '../clients/client.ts'
import type { ClientFinder } from '../clients/find-client.ts'

/**
 * Looks each client up once a request. One answer has several steps that need the same client
 * (introspection asks for the token's twice), and none of them may see another state of it than the
 * step before. Nothing is kept for the next request.
 */
export function oncePerRequest(clients: ClientFinder): ClientFinder {
  const found = new WeakMap<object, Map<string, Promise<Client | undefined>>>()
  return {
    async find(clientId, fresh) {
      const { ctx } = Provider
      if (!ctx) return await clients.find(clientId, fresh)
      const known = found.get(ctx) ?? new Map<string, Promise<Client | undefined>>()
      found.set(ctx, known)
      const key = `${fresh === true} ${clientId}`
      const client = known.get(key) ?? clients.find(clientId, fresh)
      known.set(key, client)
      return await client
    },
  }
}
