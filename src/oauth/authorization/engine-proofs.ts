import { AsyncLocalStorage } from 'node:async_hooks'

import { decodeJwt, type JSONWebKeySet, type JWTPayload } from 'jose'
import { Provider } from 'oidc-provider'

import { proveClient } from '../../platform/limits/client-requests.ts'
import type { EngineClient } from '../clients/client-metadata.ts'
import type { UseOnce } from '../proofs/used-proofs.ts'

/**
 * How the engine's checks of what clients prove and ours go together: both remember a proof at one
 * place, and both use the keys that the engine keeps of a client.
 */

/** The part of the engine that remembers proofs; its types leave it out. */
interface Remembering {
  unique(iss: string, jti: string, exp: number): Promise<boolean>
}

/** The engine looks first and writes then, so that two at the same time would both be the first. */
export function rememberProofsOnce(provider: Provider, useOnce: UseOnce): void {
  const detection = provider.ReplayDetection as unknown as Remembering
  detection.unique = async (whose, jti, endsAtSeconds) => {
    const madeAtSeconds = madeAt(whose, jti)
    const isFirst = (await useOnce({ whose, jti, endsAtSeconds, madeAtSeconds })) === 'first'
    const { ctx } = Provider
    // The other kind of proof is of a key, and says nothing of the client.
    if (isFirst && whose === ctx?.oidc?.client?.clientId) proveClient(ctx, whose)
    return isFirst
  }
}

/**
 * When the proof of the running request says that it was made, which the engine has verified by now. A request
 * may carry both kinds, and the other one is not verified yet: nothing of it may stand in.
 */
function madeAt(whose: string, jti: string): number | undefined {
  const { ctx } = Provider
  const assertion = claimsOf(ctx?.oidc?.params?.['client_assertion'])
  if (assertion?.iss === whose) return assertion.jti === jti ? assertion.iat : undefined
  const proof = claimsOf(ctx?.get('dpop'))
  return proof?.jti === jti ? proof.iat : undefined
}

function claimsOf(proof: unknown): JWTPayload | undefined {
  try {
    return typeof proof === 'string' && proof !== '' ? decodeJwt(proof) : undefined
  } catch {
    return undefined
  }
}

/** The keys of a client as the engine keeps them. */
interface KeyStore extends Iterable<JSONWebKeySet['keys'][number]> {
  refresh(): Promise<void>
}

const keyRequest = new AsyncLocalStorage<string>()

/** The public keys of a client: of its set, or at its address, which the engine asks now and then. */
export async function keysOfClient(provider: Provider, clientId: string): Promise<JSONWebKeySet> {
  const client = await provider.Client.find(clientId)
  const keys = client?.['asymmetricKeyStore'] as KeyStore | undefined
  if (!client || !keys) return { keys: [] }
  await keyRequest.run(client.jwksUri ?? '', async () => await keys.refresh())
  return { keys: [...keys] }
}

/** Whether the engine asks this address for the keys of a client, and not for a document. */
export function asksForKeys(address: string): boolean {
  const client: EngineClient | undefined = Provider.ctx?.oidc?.client
  return address === (keyRequest.getStore() ?? client?.jwksUri)
}
