import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  type ClientMetadata,
  Provider,
} from 'oidc-provider'

import type { Client } from '../clients/client.ts'
import type { ClientFinder } from '../clients/find-client.ts'
import type { FindGrant } from '../grants/access.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { type StateAdapter, type StateStore, storedId } from '../store/state.ts'
import { accessTokenAdapter } from '../token/access-token.ts'
import { codeFinder } from '../token/authorization-code.ts'
import type { Resources } from '../token/resource-indicators.ts'
import { mayFetchDocument } from './document-resolution.ts'
import { grantAdapter } from './engine-grant.ts'

export interface EngineAdapterDependencies {
  readonly state: StateStore
  readonly clients: ClientFinder
  readonly findGrant: FindGrant
  readonly grants: Pick<GrantStore, 'adopt' | 'end' | 'beginFamily'>
  readonly resources: Resources
  /** How a client is presented to the engine. */
  readonly present: (client: Client) => ClientMetadata
}

/**
 * What the engine stores and finds, with rules of ours around it: clients come from the client store
 * and grants from the database, a code whose request is wrong is refused before it is used up, and an
 * access token is remembered after its end. It reads the running request through the documented
 * `Provider.ctx` only.
 */
export function engineAdapter(dependencies: EngineAdapterDependencies): AdapterFactory {
  return (model) => ({ ...refusing(model), ...adapterOf(model, dependencies) })
}

function adapterOf(
  model: string,
  { state, clients, findGrant, grants, resources, present }: EngineAdapterDependencies,
): Partial<Adapter> {
  const records = state.adapterFor(model)
  switch (model) {
    case 'Client':
      return { find: clientFinder(clients, present) }
    case 'Grant':
      return grantAdapter({ findGrant, grants, formerRecords: records })
    case 'AccessToken':
      return { ...bound(records), ...accessTokenAdapter(records, state, resources) }
    case 'AuthorizationCode':
      return { ...bound(records), find: codeFinder(records, findGrant, resources) }
    case 'RefreshToken':
      return { ...bound(records), upsert: familyBeginner(records, grants) }
    default:
      return bound(records)
  }
}

function bound(records: StateAdapter): Adapter {
  return {
    upsert: (id, payload, ttlSeconds) => records.upsert(id, payload, ttlSeconds),
    find: (id) => records.find(id),
    findByUid: (uid) => records.findByUid(uid),
    findByUserCode: (code) => records.findByUserCode(code),
    consume: (id) => records.consume(id),
    destroy: (id) => records.destroy(id),
    revokeByGrantId: (grantId) => records.revokeByGrantId(grantId),
  }
}

/** What is not asked of a model: the engine registers no clients and writes no grants. */
function refusing(model: string): Adapter {
  const refuse = async () => {
    throw new Error(`the engine does not do that with the model ${model}`)
  }
  return {
    upsert: refuse,
    find: refuse,
    findByUid: refuse,
    findByUserCode: refuse,
    consume: refuse,
    destroy: refuse,
    revokeByGrantId: refuse,
  }
}

/** The first refresh token of a code exchange begins a family; those that replace it belong to it. */
function familyBeginner(
  records: StateAdapter,
  grants: EngineAdapterDependencies['grants'],
): Adapter['upsert'] {
  return async (id, payload: AdapterPayload, ttlSeconds) => {
    const begins = !payload.rotations && payload.grantId !== undefined
    await Promise.all([
      records.upsert(id, payload, ttlSeconds),
      begins && grants.beginFamily(payload.grantId ?? '', storedId('RefreshToken', id)),
    ])
  }
}

function clientFinder(
  clients: ClientFinder,
  present: EngineAdapterDependencies['present'],
): Adapter['find'] {
  return async (clientId) => {
    const client = await clients.find(clientId, mayFetchDocument())
    // A deleted client keeps authenticating at the token endpoint, where its refresh tokens have to
    // be answered with invalid_grant; nobody is sent to an address that it once registered.
    if (!client || (client.state === 'deleted' && sendsPeople())) return undefined
    return present(client)
  }
}

function sendsPeople(): boolean {
  return /^(authorization|resume|end_session)/.test(Provider.ctx?.oidc?.route ?? '')
}
