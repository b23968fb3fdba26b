import { type Adapter, type AdapterFactory, Provider } from 'oidc-provider'

import { toClientMetadata } from '../clients/client-metadata.ts'
import type { ClientFinder } from '../clients/find-client.ts'
import type { FindGrant } from '../grants/access.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { StateAdapter, StateStore } from '../store/oauth-state.ts'
import { accessTokenAdapter } from '../token/access-token.ts'
import { codeFinder } from '../token/authorization-code.ts'
import type { Resources } from '../token/resource-indicators.ts'
import { mayFetchDocument } from './engine-documents.ts'
import { grantAdapter } from './engine-grant.ts'

export interface EngineAdapterDependencies {
  readonly state: StateStore
  readonly clients: ClientFinder
  readonly findGrant: FindGrant
  readonly grants: Pick<GrantStore, 'adopt' | 'end' | 'beginFamily'>
  readonly resources: Resources
}

/**
 * What the engine stores and finds, with rules of ours around it: clients come from the client store
 * and grants from the database, a code whose request is wrong is refused before it is used up, and an
 * access token is remembered after its end. It reads the running request through the documented
 * `Provider.ctx` only.
 */
export function engineAdapter(dependencies: EngineAdapterDependencies): AdapterFactory {
  return (model) => {
    const records = dependencies.state.adapterFor(model)
    return { ...records, ...rulesOf(model, records, dependencies) }
  }
}

function rulesOf(
  model: string,
  records: StateAdapter,
  { state, clients, findGrant, grants, resources }: EngineAdapterDependencies,
): Partial<Adapter> {
  switch (model) {
    case 'Client':
      return { find: clientFinder(clients) }
    case 'Grant':
      return grantAdapter(findGrant, grants, records)
    case 'AccessToken':
      return accessTokenAdapter(records, state, resources)
    case 'AuthorizationCode':
      return { find: codeFinder(records, { findGrant, grants, resources }) }
    default:
      return {}
  }
}

function clientFinder(clients: ClientFinder): Adapter['find'] {
  return async (clientId) => {
    const client = await clients.find(clientId, mayFetchDocument())
    // A deleted client keeps authenticating at the token endpoint, where its refresh tokens have to
    // be answered with invalid_grant; nobody is sent to an address that it once registered.
    const sendsPeople = /^(authorization|resume|end_session)/.test(Provider.ctx?.oidc?.route ?? '')
    if (!client || (client.state === 'deleted' && sendsPeople)) return undefined
    return toClientMetadata(client)
  }
}
