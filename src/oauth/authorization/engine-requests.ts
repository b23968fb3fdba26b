import type { Configuration } from 'oidc-provider'

import type { OutgoingInit } from '../../platform/outgoing/guarded-fetch.ts'
import { fetchBounds, makeFetchGovernor } from '../clients/fetch-governor.ts'
import { type DocumentResolution, resolveDocument } from './engine-documents.ts'
import { asksForKeys } from './engine-proofs.ts'

export interface RequestDependencies {
  readonly documentResolution: DocumentResolution
  readonly furtherPlans: { readonly privateHosts: readonly string[] }
  readonly now: () => number
}

/** As large as the keys of a client may be at their address. */
const KEY_SET_BYTES_MAX = 65_536
/** So long the keys of a client are used before its address is asked again, whatever it says. */
const KEYS_FRESH_SECONDS_MAX = 600

/**
 * As many times as keys are asked for. Every address was entered by an operator and is asked again after a
 * minute at the earliest, so that only those of one host that fails are many: they keep no other from its keys.
 */
const keyBounds = { ...fetchBounds, runningMax: 64, perMinuteMax: 1200 }

/**
 * Every request that the engine sends: for a metadata document, and to the server of a client that an
 * operator entered. All go through the guard against private addresses (platform/outgoing/guarded-fetch.ts), within the
 * engine's time limit; redirects are not followed. Requests for keys are counted, since strangers can cause
 * them; how many notices go out is decided where they wait (oauth/sign-outs/sign-outs.ts).
 */
export function engineRequests({
  documentResolution,
  furtherPlans,
  now,
}: RequestDependencies): Pick<Configuration, 'fetch' | 'fetchResponseBodyLimits'> {
  const { fetch } = documentResolution
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
      if (asksForKeys(address)) return await askForKeys(address, options ?? {})
      return await resolveDocument(address, options, documentResolution)
    },
    // The bound of a document is ours (read-document.ts); a client says more than its document.
    fetchResponseBodyLimits: {
      'client_id metadata document': 65_536,
      jwks_uri: KEY_SET_BYTES_MAX,
    },
  }
}

/** What a client answers to a notice is its status. */
async function withoutBody({ body, status }: Response): Promise<Response> {
  await body?.cancel()
  return new Response(null, { status })
}

/** A client that changes its keys is not bound by what it once said of how long they hold. */
function boundedFreshness(response: Response): Response {
  const [, said = '0'] = /max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '') ?? []
  const headers = { 'cache-control': `max-age=${Math.min(Number(said), KEYS_FRESH_SECONDS_MAX)}` }
  return new Response(response.body, { status: response.status, headers })
}
