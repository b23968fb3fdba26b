/** Decides which authentication a request requires, and whether the session suffices. */

import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'

import { acrValues, assuranceOf, MFA_ACR } from '../../directory/people/authentication.ts'
import { needsOperator } from '../../directory/scopes/policy.ts'
import { unmetAuthentication } from '../../platform/http/errors.ts'
import type { EngineDependencies } from './engine-dependencies.ts'
import { decideRequestedSite } from './requested-site.ts'

/**
 * Names for `acr_values` and `max_age` in a request without `openid`. The engine rejects the standard names in such a
 * request (authorize-requests.ts), but RFC 9470 defines them for OAuth clients, too.
 */
export const plainNames = {
  acr_values: 'step_up_acr_values',
  max_age: 'step_up_max_age',
} as const

type Params = Readonly<Record<string, unknown>>

/**
 * Returns the values of `acr` that satisfy a request; undefined if any value is acceptable.
 *
 * - An essential `acr` in the `claims` parameter must match exactly (OpenID Connect Core §5.5.1.1).
 * - Without it, one of the known values of `acr_values` must match, or the client's API would reject the token again
 *   (RFC 9470 §5). Two factors also satisfy a request for a password or passkey. Unknown values are ignored.
 *
 * @throws InvalidRequest if the values of the essential `acr` are not a list
 */
export function requiredAcr(params: Params): readonly string[] | undefined {
  const essential = essentialAcr(params['claims'])
  if (essential) return essential
  const asked = String(params['acr_values'] ?? params[plainNames.acr_values] ?? '').split(' ')
  const known = asked.filter((acr) => acrValues.includes(acr))
  if (known.length === 0) return undefined
  return known.some((acr) => belowTwoFactors.includes(acr)) ? [...known, MFA_ACR] : known
}

/** The values of `acr` that two factors also satisfy. The value for identity providers is not one of them. */
const belowTwoFactors = [assuranceOf(['password']).acr, assuranceOf(['passkey']).acr]

/** Reads the values of an essential `acr` (OpenID Connect Core §5.5). The engine has validated the JSON. */
function essentialAcr(claims: unknown): readonly string[] | undefined {
  const { id_token } = typeof claims === 'string' ? JSON.parse(claims) : {}
  const { essential, value, values } = id_token?.acr ?? {}
  if (!essential || (!value && !values)) return undefined
  if (value) return [String(value)]
  if (Array.isArray(values)) return values.map(String)
  throw new errors.InvalidRequest('claims.id_token.acr.values must be an array')
}

/** The reason for a sign-in with two factors: the site requires them of its operators. */
export const OPERATORS_NEED_MFA = 'operators_need_mfa'

/**
 * Creates the checks that ask a person to sign in again. They apply if the person authenticated too long ago, or by a
 * method that does not satisfy the request. If no method can satisfy the request, or the new sign-in does not satisfy
 * it, the request ends with unmet_authentication_requirements. A site can require two factors for all operator scopes.
 */
export function assuranceChecks(dependencies: EngineDependencies) {
  const { Check } = interactionPolicy
  const description = 'the sign-in is too old, or its method does not suffice'
  return [
    new Check('required_acr', description, 'login_required', ({ oidc }) => {
      const required = requiredAcr(oidc.params ?? {})
      if (!required || required.includes(oidc.acr ?? '')) return false
      const isPossible = required.some((acr) => acrValues.includes(acr))
      if (!isPossible || oidc.result?.login) throw unmetAuthentication(oidc.issuer)
      return true
    }),
    new Check(OPERATORS_NEED_MFA, description, 'login_required', async (ctx) => {
      const { acr, params, issuer, entities, session } = ctx.oidc
      if (!needsOperator(String(params?.['scope'] ?? '').split(' '))) return false
      const decision = await decideRequestedSite(ctx, dependencies)
      const demand = decision.kind === 'bound' ? decision.site.operatorDemand : undefined
      if (!demand || (acr === MFA_ACR && !isOlder(session, demand.maxAgeSeconds))) return false
      // The first sign-in page may not know the person yet. If so, only a second page can ask for two factors.
      if (entities.Interaction?.prompt.reasons.includes(OPERATORS_NEED_MFA))
        throw unmetAuthentication(issuer)
      return true
    }),
    new Check('step_up_max_age', description, 'login_required', ({ oidc }) => {
      const maxAge = oidc.params?.[plainNames.max_age]
      if (maxAge === undefined || oidc.result?.login) return false
      return Number(maxAge) === 0 || isOlder(oidc.session, Number(maxAge))
    }),
  ]
}

/** Whether the session has no person, or its authentication is older than this many seconds. */
function isOlder(
  session: KoaContextWithOIDC['oidc']['session'],
  maxAgeSeconds = Number.POSITIVE_INFINITY,
): boolean {
  return !session?.accountId || session.past(maxAgeSeconds)
}

/** Rejects a `max_age` that is not a number of seconds, in a request without `openid`. @throws InvalidRequest */
export function checkPlainMaxAge(_ctx: unknown, maxAge: unknown): void {
  if (maxAge === undefined || /^\d{1,15}$/.test(String(maxAge))) return
  throw new errors.InvalidRequest('max_age must be a number of seconds')
}
