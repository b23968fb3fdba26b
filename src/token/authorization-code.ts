import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import type { FindGrant } from '../grants/access.ts'
import { resourceNotGranted, resourceNotRepeated } from '../http/errors.ts'
import { needsResource } from '../scopes/policy.ts'
import type { StateAdapter } from '../store/oauth-state.ts'
import { namedResources, type Resources } from './resource-indicators.ts'

/**
 * Finds a code for its exchange. `resource` is checked before the engine uses the code up (design 3):
 * the engine would do so after, and the client's corrected second try would then look like a replay
 * and end the whole grant. The code of a grant that ended meanwhile is nobody's any more. That a code
 * is used once, whoever comes first, is `StateAdapter.consume`.
 */
export function codeFinder(records: StateAdapter, findGrant: FindGrant, resources: Resources) {
  return async (code: string): Promise<AdapterPayload | undefined> => {
    const stored = await records.find(code)
    const oidc = Provider.ctx?.oidc
    if (!stored || stored['consumed'] || oidc?.route !== 'token') return stored
    const facts = await findGrant(stored.grantId)
    if (!facts || facts.grant.endedBecause !== undefined) return undefined
    if (oidc.client?.clientId === stored.clientId) settleResource(oidc, stored, resources)
    return stored
  }
}

/** Replaces what the client asked for by the one audience that it denotes, or refuses. */
function settleResource(
  oidc: KoaContextWithOIDC['oidc'],
  stored: AdapterPayload,
  resources: Resources,
): void {
  const granted = stored['resource']
  if (namedResources(oidc, resources).length > 0) {
    if (!granted) throw resourceNotGranted()
    Object.assign(oidc.params ?? {}, { resource: resources.audience })
  } else if (granted && needsResource(String(stored.scope ?? '').split(' '))) {
    throw resourceNotRepeated()
  }
}
