import type { Configuration } from 'oidc-provider'

import { languages } from '../../../views/text.ts'
import { acrValues } from '../../directory/people/authentication.ts'
import { paths } from '../../platform/http/paths.ts'
import { proofAlgorithms } from '../clients/proofs.ts'
import type { EngineDependencies } from './engine-dependencies.ts'

/** Returns additional members for the engine's discovery documents (RFC 8414, RFC 9728). */
export function discoveryMembers(
  { baseUrl, furtherPlans: { privateKeyJwt } }: EngineDependencies,
  authMethods: readonly string[],
): Pick<Configuration, 'acrValues' | 'discovery'> {
  const discovery = {
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    registration_endpoint: baseUrl + paths.registration,
    protected_resources: [baseUrl],
    service_documentation: baseUrl + paths.authMd,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    ui_locales_supported: [...languages],
    // Also advertise the algorithms for the revocation and introspection endpoints (RFC 8414 §2).
    ...(privateKeyJwt && {
      revocation_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
      introspection_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
    }),
  }
  return { acrValues: [...acrValues], discovery }
}
