/**
 * The engine configured, and what stands around its storage and its answers. It holds no policy
 * of its own.
 */

import { type AdapterFactory, type Configuration, type JWK, Provider } from 'oidc-provider'

import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { addressOf, paths, planPaths, promptPages } from '../../platform/http/paths.ts'
import { compareSecretsByDigest, extraClientProperties } from '../clients/client-metadata.ts'
import { promptPolicy } from '../consent/prompts.ts'
import {
  findRememberedGrant,
  type RememberedGrantDependencies,
} from '../consent/remembered-grant.ts'
import { type ClaimsDependencies, claimsByScope, makeFindAccount } from '../token/claims.ts'
import { type Resources, resourceIndicators } from '../token/resource-indicators.ts'
import { mayRevokeToken } from '../token/revocation.ts'
import { checkAuthorizationRequest } from './authorize-requests.ts'
import { type ConformanceProfile, overlay } from './conformance-profile.ts'
import { type EventDependencies, logEngineEvents } from './engine-events.ts'
import { engineErrorRenderer, renderSignedOut, renderSignOut } from './engine-pages.ts'
import {
  applyPlans,
  assertAssertion,
  clientAuthMethods,
  configuredFeatures,
  type PlanDependencies,
  planMetadata,
  proofSigning,
} from './engine-plans.ts'
import { engineRequests, type RequestDependencies } from './engine-requests.ts'

export interface ProviderDependencies
  extends RememberedGrantDependencies,
    ClaimsDependencies,
    PlanDependencies,
    Omit<RequestDependencies, 'furtherPlans'>,
    EventDependencies {
  readonly baseUrl: string
  readonly adapter: AdapterFactory
  /** Private ES256 keys, the one that signs first. */
  readonly keys: readonly JWK[]
  readonly cookieKeys: readonly string[]
  readonly lifetimes: Readonly<Record<EngineLifetime, number>>
  readonly grantSeconds: number
  readonly resources: Resources
  readonly requestLengths: Parameters<typeof checkAuthorizationRequest>[0]
  readonly conformance: ConformanceProfile | undefined
}

/** How long what the engine keeps lives, and what it may be asked for again. */
type EngineLifetime =
  | 'authorizationCodeSeconds'
  | 'accessTokenSeconds'
  | 'idTokenSeconds'
  | 'refreshTokenSeconds'
  | 'refreshTokenAbsoluteSeconds'
  | 'refreshRetrySeconds'
  | 'sessionSeconds'
  | 'interactionSeconds'

/**
 * The certified engine, configured. This file connects it with policy and holds none itself; every
 * setting that is not obvious names the design decision or the trap that asks for it.
 */
export function createProvider(dependencies: ProviderDependencies): Provider {
  const { baseUrl, conformance } = dependencies
  const configuration: Configuration = {
    ...storage(dependencies),
    ...protocol(dependencies),
    ...people(dependencies),
    ttl: ttl(dependencies),
    features: features(dependencies),
    renderError: engineErrorRenderer(dependencies.documentResolution.documents.admitsAddress),
    ...engineRequests(dependencies),
  }
  const provider = new Provider(
    baseUrl,
    conformance ? overlay(configuration, conformance) : configuration,
  )
  compareSecretsByDigest(provider)
  applyPlans(provider, dependencies)
  logEngineEvents(provider, dependencies)
  // Host and X-Forwarded-* were replaced by `pinnedHost`; the engine reads the scheme from there.
  provider.proxy = true
  return provider
}

function storage({ adapter, keys, cookieKeys, baseUrl }: ProviderDependencies): Configuration {
  const secure = baseUrl.startsWith('https:')
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure } as const
  return {
    adapter,
    jwks: { keys: [...keys] },
    cookies: {
      keys: [...cookieKeys],
      long: { ...cookie, path: '/' },
      short: { ...cookie },
      names: {
        // RFC 6265bis §4.1.3.2: a browser accepts the prefix from this very host only.
        session: secure ? '__Host-gatehouse' : 'gatehouse',
        interaction: 'gatehouse_interaction',
        resume: 'gatehouse_resume',
      },
    },
  }
}

function protocol({ baseUrl, furtherPlans, requestLengths }: ProviderDependencies): Configuration {
  const authMethods = clientAuthMethods(furtherPlans)
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
    enabledJWA: { idTokenSigningAlgValues: ['ES256'], ...proofSigning(furtherPlans) },
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
      ...planMetadata(furtherPlans),
    },
  }
}

/** The one way in which people prove who they are, as `acr` in id_tokens. */
export const PASSWORD_ACR = 'urn:gatehouse:password'

function people(dependencies: ProviderDependencies): Configuration {
  return {
    findAccount: makeFindAccount(dependencies),
    loadExistingGrant: (ctx) => findRememberedGrant(ctx, dependencies),
    // Clients keep their refresh tokens when the person signs out of the browser.
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    interactions: {
      policy: promptPolicy(dependencies),
      url: (_ctx, { uid, prompt }) =>
        addressOf(promptPages[prompt.name as keyof typeof promptPages], { uid }),
    },
  }
}

function ttl({ lifetimes, grantSeconds }: ProviderDependencies): Configuration['ttl'] {
  const { refreshTokenSeconds, refreshTokenAbsoluteSeconds } = lifetimes
  return {
    AuthorizationCode: lifetimes.authorizationCodeSeconds,
    AccessToken: lifetimes.accessTokenSeconds,
    IdToken: lifetimes.idTokenSeconds,
    // Whoever asks to sign out has one, signed in or not.
    Session: (_ctx, { accountId }) =>
      accountId === undefined ? lifetimes.interactionSeconds : lifetimes.sessionSeconds,
    Interaction: lifetimes.interactionSeconds,
    Grant: grantSeconds,
    // Sliding, and absolute from the first token of the family.
    RefreshToken: (_ctx, token) =>
      Math.max(
        1,
        Math.min(refreshTokenSeconds, refreshTokenAbsoluteSeconds - token.totalLifetime()),
      ),
  }
}

function features(dependencies: ProviderDependencies): Configuration['features'] {
  const { resources, lifetimes } = dependencies
  return {
    devInteractions: { enabled: false },
    ...configuredFeatures(dependencies),
    claimsParameter: { enabled: true },
    revocation: { enabled: true, allowedPolicy: mayRevokeToken },
    // UserInfo and introspection are answered by routes of our own, before the engine's. It keeps
    // them on, for discovery and for `claims.userinfo`, and would tell nobody anything.
    introspection: { enabled: true, allowedPolicy: () => false },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: renderSignOut,
      postLogoutSuccessSource: renderSignedOut,
    },
    resourceIndicators: resourceIndicators(resources, lifetimes.accessTokenSeconds),
  }
}
