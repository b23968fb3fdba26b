import { z } from 'zod'

import { paths } from '../src/platform/http/paths.ts'
import { askService, type ServiceAddress } from './ask.ts'
import { type PlanName, type Service, serviceOf, services } from './plans.ts'

const names = z.array(z.string())
const metadata = z.object({
  id_token_signing_alg_values_supported: names,
  token_endpoint_auth_methods_supported: names,
  backchannel_logout_supported: z.boolean().default(false),
  dpop_signing_alg_values_supported: names.default([]),
  pushed_authorization_request_endpoint: z.string().optional(),
})

/**
 * Checks in the discovery document that a running service fits a plan.
 *
 * @throws Error if it does not, because its modules would fail or be interrupted
 */
export async function demandFit(plan: PlanName, address: ServiceAddress): Promise<void> {
  const found = metadata.parse(await askService(address, paths.openidConfiguration))
  const on = {
    profile: found.id_token_signing_alg_values_supported.includes('RS256'),
    backChannelLogout: found.backchannel_logout_supported,
    pushedAuthorizationRequests: found.pushed_authorization_request_endpoint !== undefined,
    dpop: found.dpop_signing_alg_values_supported.length > 0,
    privateKeyJwt: found.token_endpoint_auth_methods_supported.includes('private_key_jwt'),
  }
  const { profile, protocols }: Service = services[serviceOf(plan)]
  const wanted = { ...(profile && { backChannelLogout: false }), profile }
  const all = { ...wanted, ...Object.fromEntries(protocols.map((protocol) => [protocol, true])) }
  const wrong = Object.entries(all).filter(([name, value]) => on[name as keyof typeof on] !== value)
  if (wrong.length === 0) return
  const list = wrong.map(([name, value]) => `${name} must be ${value ? 'on' : 'off'}`).join(', ')
  throw new Error(
    `${address.baseUrl} is not a service for the plan ${plan}: ${list}. Start one with \`npm run conformance -- serve --for ${plan}\`.`,
  )
}
