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
 * Checks in discovery that a running service enables what a plan needs, and no sign-out notices that interrupt modules.
 *
 * @throws Error that lists the differences
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
    `The service at ${address.baseUrl} does not fit the plan ${plan}: ${list}. Start one that fits with \`npm run conformance -- serve --for ${plan}\`.`,
  )
}
