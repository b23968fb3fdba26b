import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  type ClientMetadata,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'

import type { Client } from '../clients/client.ts'
import type { ClientStore } from '../clients/client-store.ts'
import { resourceNotGranted, resourceNotRepeated, unknownResource } from '../errors.ts'
import { needsResource } from '../scopes/policy.ts'
import type { StateStore } from '../store/state.ts'
import type { Resources } from './resources.ts'
import { storageGuard } from './storage-guard.ts'

export interface EngineAdapterDependencies {
  readonly state: StateStore
  readonly clients: ClientStore
  readonly resources: Resources
  /** How a client is presented to the engine. */
  readonly present: (client: Client) => ClientMetadata
}

/**
 * What the engine stores and finds, with three rules of ours around it: clients come from the client
 * store, a code whose request is wrong is refused before it is used up, and a store that does not
 * answer is 503 instead of a failure. It reads the running request through the documented
 * `Provider.ctx` only.
 */
export function engineAdapter(dependencies: EngineAdapterDependencies): AdapterFactory {
  const { state, resources } = dependencies
  return (model) => {
    if (model === 'Client') return guarded(clientAdapter(dependencies))
    const adapter = state.adapterFor(model)
    switch (model) {
      case 'AccessToken':
        return guarded({ ...bound(adapter), find: (id) => findAccessToken(adapter, id, resources) })
      case 'AuthorizationCode':
        return guarded({ ...bound(adapter), find: (id) => findCode(adapter, id, resources) })
      default:
        return guarded(bound(adapter))
    }
  }
}

function bound(adapter: Adapter): Adapter {
  return {
    upsert: (id, payload, ttlSeconds) => adapter.upsert(id, payload, ttlSeconds),
    find: (id) => adapter.find(id),
    findByUid: (uid) => adapter.findByUid(uid),
    findByUserCode: (code) => adapter.findByUserCode(code),
    consume: (id) => adapter.consume(id),
    destroy: (id) => adapter.destroy(id),
    revokeByGrantId: (grantId) => adapter.revokeByGrantId(grantId),
  }
}

/**
 * UserInfo accepts the origin-bound token (design 4). The engine refuses any token with an audience
 * there, so that it is shown one without; the stored token keeps its own.
 */
async function findAccessToken(adapter: Adapter, id: string, { audience }: Resources) {
  const stored = await adapter.find(id)
  if (!stored || Provider.ctx?.oidc?.route !== 'userinfo' || stored.aud !== audience) return stored
  const { aud: _audience, ...unbound } = stored
  return unbound
}

/**
 * Checks `resource` before the engine uses the code up (design 3). The engine would do so after,
 * and the client's corrected second try would then look like a replay and end the whole grant.
 */
async function findCode(adapter: Adapter, id: string, resources: Resources) {
  const stored = await adapter.find(id)
  const oidc = Provider.ctx?.oidc
  if (!stored || stored['consumed'] || oidc?.route !== 'token') return stored
  if (oidc.client?.clientId === stored.clientId) settleResource(oidc, stored, resources)
  return stored
}

/** Replaces what the client asked for by the one audience that it denotes, or refuses. */
function settleResource(
  oidc: KoaContextWithOIDC['oidc'],
  stored: AdapterPayload,
  resources: Resources,
): void {
  const params = oidc.params ?? {}
  const asked = [params['resource'] ?? []].flat().map(String)
  if (asked.some((resource) => resources.canonical(resource) === undefined)) throw unknownResource()
  const granted = stored['resource']
  if (asked.length > 0) {
    if (!granted) throw resourceNotGranted()
    params['resource'] = resources.audience
  } else if (granted && needsResource(String(stored.scope ?? '').split(' '))) {
    throw resourceNotRepeated()
  }
}

/** Clients as the engine wants them. It never writes one: registration is a route of ours. */
function clientAdapter({ clients, present }: EngineAdapterDependencies): Adapter {
  const unused = async () => {
    throw new Error('the engine stores no clients')
  }
  return {
    async find(clientId) {
      const client = await clients.find(clientId)
      // A deleted client keeps authenticating at the token endpoint, where its refresh tokens have
      // to be answered with invalid_grant; nobody is sent to an address that it once registered.
      if (!client || (client.state === 'deleted' && sendsPeople())) return undefined
      return present(client)
    },
    upsert: unused,
    findByUid: unused,
    findByUserCode: unused,
    consume: unused,
    destroy: unused,
    revokeByGrantId: unused,
  }
}

function sendsPeople(): boolean {
  return /^(authorization|resume|end_session)/.test(Provider.ctx?.oidc?.route ?? '')
}

/** Every call of the adapter, with the answer of design 24 when its store fails. */
function guarded(adapter: Adapter): Adapter {
  return {
    upsert: storageGuard(adapter.upsert),
    find: storageGuard(adapter.find),
    findByUid: storageGuard(adapter.findByUid),
    findByUserCode: storageGuard(adapter.findByUserCode),
    consume: storageGuard(adapter.consume),
    destroy: storageGuard(adapter.destroy),
    revokeByGrantId: storageGuard(adapter.revokeByGrantId),
  }
}
