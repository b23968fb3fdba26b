import type { Configuration } from 'oidc-provider'

import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { paths, planPaths } from '../../platform/http/paths.ts'
import { extraClientProperties } from '../clients/client-metadata.ts'
import type { FurtherPlans } from '../clients/further-plans.ts'
import { proofAlgorithms } from '../proofs/proofs.ts'
import { claimsByScope } from '../token/claims.ts'
import { type Resources, resourceIndicators } from '../token/resource-indicators.ts'
import { checkAuthorizationRequest } from './authorize-requests.ts'
import { renderSignedOut, renderSignOut } from './engine-pages.ts'
import { assertAssertion } from './engine-proofs.ts'
import { type DocumentResolution, documentFeature } from './engine-requests.ts'
import { mayRevokeToken } from './engine-tokens.ts'

export interface ProtocolDependencies {
  readonly baseUrl: string
  readonly furtherPlans: FurtherPlans
  /** Of the nonces that DPoP proofs carry: 32 bytes. */
  readonly nonceKey: Buffer
  readonly documentResolution: DocumentResolution
  readonly resources: Resources
  readonly requestLengths: Parameters<typeof checkAuthorizationRequest>[0]
  readonly lifetimes: { readonly accessTokenSeconds: number }
}

/** The one way in which people authenticate, as `acr` in id_tokens. */
export const PASSWORD_ACR = 'urn:gatehouse:password'

/** What of OAuth 2.0 and OpenID Connect the engine speaks and advertises. */
export function protocol({
  baseUrl,
  furtherPlans,
  requestLengths,
}: ProtocolDependencies): Configuration {
  const { privateKeyJwt, dpop } = furtherPlans
  // In this order: some libraries take the first that they know, and with `none` would send no secret.
  const authMethods = [
    ...(['client_secret_post', 'none'] as const),
    ...(privateKeyJwt ? (['private_key_jwt'] as const) : []),
  ]
  return {
    routes: {
      authorization: paths.authorization,
      token: paths.token,
      userinfo: paths.userinfo,
      revocation: paths.revocation,
      introspection: paths.introspection,
      jwks: paths.jwks,
      end_session: paths.endSession,
      pushed_authorization_request: planPaths.pushedAuthorization,
    },
    scopes: scopeNames(),
    claims: { ...claimsByScope, acr: null, auth_time: null, iss: null },
    acrValues: [PASSWORD_ACR],
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    clientAuthMethods: authMethods,
    assertJwtClientAuthClaimsAndHeader: assertAssertion,
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none',
    },
    enabledJWA: {
      idTokenSigningAlgValues: ['ES256'],
      ...(privateKeyJwt && { clientAuthSigningAlgValues: [...proofAlgorithms] }),
      ...(dpop && { dPoPSigningAlgValues: [...proofAlgorithms] }),
    },
    pkce: { required: () => true },
    // design 19: `redirect_uri` is required at both endpoints even when one is registered.
    allowOmittingSingleRegisteredRedirectUri: false,
    extraClientMetadata: { properties: [...extraClientProperties] },
    extraParams: { scope: checkAuthorizationRequest(requestLengths) },
    clientBasedCORS: (_ctx, _origin, client) => client.clientAuthMethod === 'none',
    discovery: {
      revocation_endpoint_auth_methods_supported: authMethods,
      introspection_endpoint_auth_methods_supported: authMethods,
      registration_endpoint: baseUrl + paths.registration,
      protected_resources: [baseUrl],
      service_documentation: baseUrl + paths.authMd,
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      ui_locales_supported: ['en'],
      // The two endpoints beside the token endpoint (RFC 8414 §2).
      ...(privateKeyJwt && {
        revocation_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
        introspection_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
      }),
    },
  }
}

export function features(dependencies: ProtocolDependencies): Configuration['features'] {
  const { resources, lifetimes, furtherPlans, nonceKey, documentResolution } = dependencies
  return {
    devInteractions: { enabled: false },
    clientIdMetadataDocument: documentFeature(documentResolution),
    dPoP: { enabled: furtherPlans.dpop, ...(furtherPlans.dpop && { nonceSecret: nonceKey }) },
    backchannelLogout: { enabled: furtherPlans.backChannelLogout },
    pushedAuthorizationRequests: { enabled: furtherPlans.pushedAuthorizationRequests },
    claimsParameter: { enabled: true },
    revocation: { enabled: true, allowedPolicy: mayRevokeToken },
    // Routes of our own answer UserInfo and introspection before the engine's. It keeps them on, for
    // discovery and for `claims.userinfo`, and would refuse every introspection.
    introspection: { enabled: true, allowedPolicy: () => false },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: renderSignOut,
      postLogoutSuccessSource: renderSignedOut,
    },
    resourceIndicators: resourceIndicators(resources, lifetimes.accessTokenSeconds),
  }
}
