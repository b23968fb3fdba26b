import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import type { FindGrant } from '../grants/access.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { resourceNotGranted, resourceNotRepeated } from '../http/errors.ts'
import { logFields } from '../http/request-log.ts'
import { needsResource } from '../scopes/policy.ts'
import { sha256 } from '../store/digest.ts'
import type { StateAdapter } from '../store/oauth-state.ts'
import { namedResources, type Resources } from './resource-indicators.ts'

export interface CodeDependencies {
  readonly findGrant: FindGrant
  readonly grants: Pick<GrantStore, 'beginFamily'>
  readonly resources: Resources
}

/**
 * Finds a code for its exchange. Whatever can be refused or fail is done before the engine uses the
 * code up: after it, the client's second try would look like a replay and end the whole grant. So
 * `resource` is checked here (design 3), and the family of refresh tokens begins here. The code of a
 * grant that ended meanwhile is nobody's any more. That a code is used once, whoever comes first, is
 * `StateAdapter.consume`.
 */
export function codeFinder(
  records: StateAdapter,
  { findGrant, grants, resources }: CodeDependencies,
) {
  return async (code: string): Promise<AdapterPayload | undefined> => {
    const stored = await records.find(code)
    const { ctx } = Provider
    if (!stored || stored['consumed'] || ctx?.oidc?.route !== 'token') return stored
    const { grant } = (await findGrant(stored.grantId)) ?? {}
    if (!grant || grant.endedBecause !== undefined) {
      logFields(ctx).detail = `the grant has ended: ${grant?.endedBecause ?? 'it is gone'}`
      return undefined
    }
    const { client } = ctx.oidc
    if (client?.clientId !== stored.clientId) return stored
    settleResource(ctx.oidc, stored, resources)
    if (client?.grantTypeAllowed('refresh_token')) await grants.beginFamily(grant.id, sha256(code))
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
