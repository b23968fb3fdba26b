import type { Client } from './client.ts'

/**
 * What a deployment may turn on besides what everybody gets, each by one setting of
 * `config/service.json`. A client chooses of what is on.
 */
export interface FurtherPlans {
  /** OpenID Connect Back-Channel Logout 1.0. */
  readonly backChannelLogout: boolean
  /** RFC 9126. */
  readonly pushedAuthorizationRequests: boolean
  /** RFC 9449. */
  readonly dpop: boolean
  /** RFC 7523 §2.2, as a client authenticates at the endpoints of RFC 6749. */
  readonly privateKeyJwt: boolean
  /** Hosts with their ports, which may lie at a private address, that are asked for keys and told of sign-outs. */
  readonly privateHosts: readonly string[]
}

/** Whether an operator can choose anything for an application. */
export function hasFurtherPlan({ privateHosts, ...plans }: FurtherPlans): boolean {
  return Object.values(plans).some(Boolean)
}

/** By which plan a client can do what it must; one whose plan is off is switched off with it. */
const needs: readonly (readonly [
  keyof Omit<FurtherPlans, 'privateHosts'>,
  (client: Needing) => boolean,
])[] = [
  ['privateKeyJwt', ({ authMethod }) => authMethod === 'private_key_jwt'],
  ['pushedAuthorizationRequests', ({ pushesRequests }) => pushesRequests === true],
  ['dpop', ({ bindsTokens }) => bindsTokens === true],
]

type Needing = Pick<Client, 'authMethod' | 'pushesRequests' | 'bindsTokens'>

/** Whether the client promises something of which this deployment has turned the plan off. */
export function lacksPlan(client: Needing, plans: FurtherPlans): boolean {
  return needs.some(([plan, isNeeded]) => isNeeded(client) && !plans[plan])
}

/** Whether a client demands of itself a part of the FAPI 2.0 Security Profile, and so is held to more. */
export function demandsFapi({
  pushesRequests,
  bindsTokens,
}: Pick<Client, 'pushesRequests' | 'bindsTokens'>): boolean {
  return pushesRequests === true || bindsTokens === true
}
