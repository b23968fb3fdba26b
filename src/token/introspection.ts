import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { type EngineClient, factsOf } from '../clients/client-metadata.ts'
import { logFields } from '../http/request-log.ts'
import type { ClaimsDependencies } from './claims.ts'

type Token = InstanceType<Provider['AccessToken']> | InstanceType<Provider['RefreshToken']>

/**
 * Who may introspect a token (RFC 7662 §2.1; design 13): a registered resource server every token of
 * this origin, a client its own. For a token whose person, role or client is gone the answer is
 * `active: false`, because it works nowhere any more.
 */
export function maySeeToken({ findAccess, countUse }: ClaimsDependencies) {
  return async (ctx: KoaContextWithOIDC, client: EngineClient, seen: unknown) => {
    const token = seen as Token
    if (!(await concerns(ctx, client, token))) return false
    const access = await findAccess(token, token.scopes)
    if (access.kind === 'lost') {
      logFields(ctx).detail = access.reason
      return false
    }
    const { grant, roles } = access
    countUse(grant.id)
    if (token.scopes.has('profile')) {
      // The engine copies `extra` into its answer. What it stored at issue would be out of date.
      const extra = grant.siteId && { org_id: grant.siteId, roles: [...roles] }
      Object.assign(token, { extra })
    }
    return true
  }
}

async function concerns(
  { oidc }: KoaContextWithOIDC,
  client: EngineClient,
  { clientId }: Token,
): Promise<boolean> {
  if (clientId === client.clientId) return true
  if (factsOf(client).origin !== 'resource_server') return false
  // The engine reads the token's client afterwards, and fails when there is none any more.
  return (await oidc.provider.Client.find(clientId ?? '')) !== undefined
}
