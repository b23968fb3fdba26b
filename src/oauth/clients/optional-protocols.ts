import type { ServicePolicy } from '../../config/config.ts'
import type { Client } from './client.ts'

/**
 * The optional protocols of this deployment, which clients may choose. These are Back-Channel Logout 1.0, pushed
 * authorization requests (RFC 9126), DPoP (RFC 9449), and authentication with a signed JWT (RFC 7523 §2.2).
 */
export type OptionalProtocols = ServicePolicy['furtherPlans']

/** Whether operators can choose at least one optional protocol for an application. */
export function offersProtocols({ privateHosts, ...plans }: OptionalProtocols): boolean {
  return Object.values(plans).some(Boolean)
}

type FapiChoice = 'pushesRequests' | 'bindsTokens'

/** Whether the client requires a protocol that this deployment has disabled. If so, its state is `off` or `deleted`. */
export function lacksProtocol(
  { authMethod, pushesRequests, bindsTokens }: Pick<Client, 'authMethod' | FapiChoice>,
  { privateKeyJwt, pushedAuthorizationRequests, dpop }: OptionalProtocols,
): boolean {
  if (authMethod === 'private_key_jwt' && !privateKeyJwt) return true
  if (pushesRequests === true && !pushedAuthorizationRequests) return true
  return bindsTokens === true && !dpop
}

/** Whether the client opted into part of the FAPI 2.0 Security Profile. If so, other rules of the profile apply too. */
export function demandsFapi({ pushesRequests, bindsTokens }: Pick<Client, FapiChoice>): boolean {
  return pushesRequests === true || bindsTokens === true
}
