import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  type ClientMetadata,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'

import type { Client } from '../clients/client.ts'
import type { ClientFinder } from '../clients/find-client.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { resourceNotGranted, resourceNotRepeated, unknownResource } from '../http/errors.ts'
import { promptPages } from '../http/paths.ts'
import { storageGuard } from '../http/storage-guard.ts'
import { findScope } from '../scopes/catalogue.ts'
import { needsResource } from '../scopes/policy.ts'
import type { StateAdapter, StateStore } from '../store/state.ts'
import { ENDED_KEPT_SECONDS, markRevoked } from '../token/access-token.ts'
import type { Resources } from '../token/resource-indicators.ts'
import { siteOfGrant } from '../token/site-of-grant.ts'
import { oncePerRequest } from './client-once.ts'
import { mayFetchDocument } from './document-resolution.ts'

export interface EngineAdapterDependencies {
  readonly state: StateStore
  readonly clients: ClientFinder
  readonly resources: Resources
  readonly connections: Pick<GrantStore, 'keep' | 'has' | 'end'>
  /** How a client is presented to the engine. */
  readonly present: (client: Client) => ClientMetadata
}

/**
 * What the engine stores and finds, with rules of ours around it: clients come from the client
 * store, a code whose request is wrong is refused before it is used up, a grant has its connection
 * beside it, an access token is remembered after its end, and a store that does not answer is 503
 * instead of a failure. It reads the running request through the documented `Provider.ctx` only.
 */
export function engineAdapter(asked: EngineAdapterDependencies): AdapterFactory {
  const dependencies = { ...asked, clients: oncePerRequest(asked.clients) }
  const { state } = dependencies
  return (model) => {
    if (model === 'Client') return guarded(clientAdapter(dependencies))
    const adapter = state.adapterFor(model)
    switch (model) {
      case 'AccessToken':
        return guarded(accessTokenAdapter(adapter, dependencies))
      case 'AuthorizationCode':
        return guarded({ ...bound(adapter), find: (id) => findCode(adapter, id, dependencies) })
      case 'Grant':
        return guarded(grantAdapter(adapter, dependencies))
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
 * Access tokens are kept for a while after their end, and a revoked one leaves a mark, so that the
 * log can tell the three apart (access-token.ts). Nothing accepts an expired token for that.
 */
function accessTokenAdapter(
  adapter: StateAdapter,
  { state, resources }: EngineAdapterDependencies,
): Adapter {
  return {
    ...bound(adapter),
    async find(id) {
      const stored = await adapter.find(id)
      // At its own endpoints the engine would take it for 15 seconds more, as a tolerance of clocks.
      // The clock is the machine's, by which the engine has set the end.
      const ended = Provider.ctx?.oidc !== undefined && Number(stored?.exp) * 1000 <= Date.now()
      return ended ? undefined : forUserinfo(stored, resources)
    },
    upsert: (id, payload, ttlSeconds) =>
      adapter.upsert(id, payload, ttlSeconds && ttlSeconds + ENDED_KEPT_SECONDS),
    async destroy(id) {
      await Promise.all([adapter.destroy(id), markRevoked(state, id)])
    },
  }
}

/**
 * UserInfo accepts the origin-bound token (design 4). The engine refuses any token with an audience
 * there, so that it is shown one without; the stored token keeps its own.
 */
function forUserinfo(stored: AdapterPayload | undefined, { audience }: Resources) {
  if (!stored || Provider.ctx?.oidc?.route !== 'userinfo' || stored.aud !== audience) return stored
  const { aud: _audience, ...unbound } = stored
  return unbound
}

/**
 * Checks `resource` before the engine uses the code up (design 3). The engine would do so after,
 * and the client's corrected second try would then look like a replay and end the whole grant. The
 * code of a connection that the person removed meanwhile is nobody's any more.
 */
async function findCode(
  adapter: Adapter,
  id: string,
  { resources, connections }: EngineAdapterDependencies,
) {
  const stored = await adapter.find(id)
  const oidc = Provider.ctx?.oidc
  if (!stored || stored['consumed'] || oidc?.route !== 'token') return stored
  if (!(await connections.has(stored.grantId ?? ''))) return undefined
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

/**
 * Grants with their connections beside them (grants/grant-store.ts). A grant whose
 * connection was ended is found no more where a person is being asked: continuing it would bring its
 * old tokens back to life. Where a token is used, standing asks for the connection already.
 */
function grantAdapter(
  adapter: Adapter,
  { connections, clients }: EngineAdapterDependencies,
): Adapter {
  return {
    ...bound(adapter),
    async upsert(id, payload, ttlSeconds) {
      const [known, client] = await Promise.all([
        adapter.find(id),
        clients.find(payload.clientId ?? ''),
      ])
      await adapter.upsert(id, payload, ttlSeconds)
      await connections.keep({
        grantId: id,
        personId: payload.accountId ?? '',
        clientId: payload.clientId ?? '',
        clientName: client?.name ?? payload.clientId ?? '',
        clientOrigin: client?.origin ?? 'unknown',
        siteId: siteOfGrant(id),
        scopes: scopesGranted(payload),
        expiresAtMs: (payload.exp ?? 0) * 1000,
        isNew: known === undefined,
      })
    },
    async find(id) {
      if (asksPerson() && !(await connections.has(id))) return undefined
      return await adapter.find(id)
    },
    async destroy(id) {
      await connections.end({ grantId: id })
      await adapter.destroy(id)
    },
  }
}

/** What the addresses of all prompts begin with. */
const INTERACTIONS = promptPages.login.slice(0, promptPages.login.indexOf(':'))

/** Whether the running request is a step of an authorization, and not the use of a token. */
function asksPerson(): boolean {
  const { ctx } = Provider
  return (
    /^(authorization|resume)$/.test(ctx?.oidc?.route ?? '') ||
    (ctx?.path.startsWith(INTERACTIONS) ?? false)
  )
}

/** Every scope of a grant that the catalogue knows, whichever resource it is for. */
function scopesGranted(payload: AdapterPayload): string[] {
  const { openid, resources } = payload as {
    openid?: { scope?: string }
    resources?: Record<string, string>
  }
  const named = [openid?.scope ?? '', ...Object.values(resources ?? {})].join(' ').split(' ')
  return [...new Set(named)].filter((name) => findScope(name))
}

/** Clients as the engine wants them. It never writes one: registration is a route of ours. */
function clientAdapter({ clients, present }: EngineAdapterDependencies): Adapter {
  const unused = async () => {
    throw new Error('the engine stores no clients')
  }
  return {
    async find(clientId) {
      const client = await clients.find(clientId, mayFetchDocument())
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
