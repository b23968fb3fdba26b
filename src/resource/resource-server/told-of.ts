import type { AuthenticatingClient } from '../../oauth/clients/authenticate-client.ts'
import type { GoodToken } from './judge-token.ts'

/**
 * Whether a caller that authenticated is told of a token (RFC 7662 §2.1; design 13): of its own in any
 * case. A resource server that the operator of a site registered is told of those that are for this
 * site, and one of the deployment of every one.
 */
export function isToldOf(
  { clientId, origin, siteId }: Pick<AuthenticatingClient, 'clientId' | 'origin' | 'siteId'>,
  { record, access }: Pick<GoodToken, 'record' | 'access'>,
): boolean {
  if (record.clientId === clientId) return true
  if (origin !== 'resource_server') return false
  return siteId === undefined || siteId === access.grant.siteId
}
