/** Creates the engine and configures our policy. */

import {
  type AdapterFactory,
  type Configuration,
  errors,
  type JWKS,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'

import { languages } from '../../../views/text.ts'
import { acrValues } from '../../directory/people/authentication.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { addressOf, paths, planPaths, promptPages } from '../../platform/http/paths.ts'
import { noteAuthenticatedClient } from '../../platform/limits/charge-requests.ts'
import {
  choseFapi,
  compareSecretsByDigest,
  type EngineClient,
  extraClientProperties,
} from '../clients/client-metadata.ts'
import {
  assertionAlgorithms,
  problemOfAssertion,
  proofAlgorithms,
  type UseOnce,
  unverifiedClaims,
} from '../clients/proofs.ts'
import { claimsByScope, makeFindAccount } from '../token/claims.ts'
import { resourceIndicators } from '../token/resource-indicators.ts'
import { checkAuthorizationRequest } from './authorize-requests.ts'
import { makeFindSessionPerson } from './browser-session.ts'
import { overlay } from './conformance-profile.ts'
import { documentFeature, engineRequests } from './engine-clients.ts'
import type { EngineDependencies } from './engine-dependencies.ts'
import { logEngineEvents } from './engine-events.ts'
import { engineErrorRenderer, renderSignedOut, renderSignOut } from './engine-pages.ts'
import { promptPolicy } from './prompts.ts'
import { findRememberedGrant } from './remembered-grant.ts'
import { checkPlainMaxAge, plainNames } from './required-acr.ts'

/** Creates the engine (oidc-provider) with our policy. @param keys ES256 keys, the signing key first */
export function createProvider(
  dependencies: EngineDependencies,
  adapter: AdapterFactory,
  keys: JWKS['keys'],
): Provider {
  const { baseUrl, conformance } = dependencies
  const configuration: Configuration = {
    adapter,
    jwks: { keys },
    cookies: cookies(dependencies),
    ...protocol(dependencies),
    ...accountSettings(dependencies),
    ttl: ttl(dependencies),
    features: features(dependencies),
    renderError: engineErrorRenderer(dependencies.documents.admitsAddress),
    ...engineRequests(dependencies),
  }
  const provider = new Provider(
    baseUrl,
    conformance ? overlay(configuration, conformance) : configuration,
  )
  compareSecretsByDigest(provider)
  rememberProofsOnce(provider, dependencies.proofs.useOnce)
  logEngineEvents(provider, dependencies)
  // The engine reads the scheme from X-Forwarded-*. `pinnedHost` has already replaced those headers and Host.
  provider.proxy = true
  return provider
}

function cookies({ cookieKeys, baseUrl }: EngineDependencies): Configuration['cookies'] {
  const secure = baseUrl.startsWith('https:')
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure } as const
  return {
    keys: [...cookieKeys],
    long: { ...cookie, path: '/' },
    short: { ...cookie },
    names: {
      // Browsers accept a `__Host-` cookie only from the host that will receive it (RFC 6265bis §4.1.3.2).
      session: secure ? '__Host-gatehouse' : 'gatehouse',
      interaction: 'gatehouse_interaction',
      resume: 'gatehouse_resume',
    },
  }
}

function accountSettings(dependencies: EngineDependencies): Configuration {
  const { grants, conformance, platform } = dependencies
  const findSessionPerson = makeFindSessionPerson(dependencies)
  return {
    findAccount: makeFindAccount(findSessionPerson, grants.findGrant, conformance, platform.now),
    loadExistingGrant: (ctx) => findRememberedGrant(ctx, dependencies),
    // Tokens stay valid after a sign-out in the browser.
    expiresWithSession: () => false,
    // `exchange.complete` creates the refresh token.
    issueRefreshToken: () => false,
    interactions: {
      policy: promptPolicy(dependencies),
      url: (_ctx, { uid, prompt }) =>
        addressOf(promptPages[prompt.name as keyof typeof promptPages], { uid }),
    },
  }
}

/** Returns the lifetimes of codes, tokens, sessions and interactions. The engine creates no grant or refresh token. */
function ttl({ lifetimes }: EngineDependencies): Configuration['ttl'] {
  return {
    AuthorizationCode: lifetimes.authorizationCodeSeconds,
    AccessToken: lifetimes.accessTokenSeconds,
    IdToken: lifetimes.idTokenSeconds,
    // A sign-out request creates a session even if no person is signed in. That session needs only a short lifetime.
    Session: (_ctx, { accountId }) =>
      accountId === undefined ? lifetimes.interactionSeconds : lifetimes.sessionIdleSeconds,
    Interaction: lifetimes.interactionSeconds,
  }
}

/** Configures which parts of OAuth 2.0 and OpenID Connect the engine supports and advertises. */
function protocol(dependencies: EngineDependencies): Configuration {
  const { furtherPlans, requestLengths } = dependencies
  const { privateKeyJwt, dpop } = furtherPlans
  // The order matters, because some libraries use the first method that they support. If `none` came first, they would
  // send no secret. Basic comes last, because it requires clients to encode their id and secret.
  const authMethods = [
    ...(['client_secret_post', 'none'] as const),
    ...(privateKeyJwt ? (['private_key_jwt'] as const) : []),
    'client_secret_basic' as const,
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
    claims: {
      ...claimsByScope,
      // Every id_token contains the time and method of the authentication.
      openid: [...claimsByScope.openid, 'acr', 'amr', 'auth_time'],
      iss: null,
    },
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
      ...(privateKeyJwt && { clientAuthSigningAlgValues: [...assertionAlgorithms] }),
      ...(dpop && { dPoPSigningAlgValues: [...proofAlgorithms] }),
    },
    pkce: { required: () => true },
    // Authorization and token requests must contain `redirect_uri`, even if only one URI is registered (design 19).
    allowOmittingSingleRegisteredRedirectUri: false,
    extraClientMetadata: { properties: [...extraClientProperties] },
    extraParams: {
      scope: checkAuthorizationRequest(requestLengths),
      [plainNames.acr_values]: null,
      [plainNames.max_age]: checkPlainMaxAge,
    },
    clientBasedCORS: (_ctx, _origin, client) => client.clientAuthMethod === 'none',
    acrValues: [...acrValues],
    discovery: discoveryMembers(dependencies, authMethods),
  }
}

/** Returns additional members of the engine's discovery documents (RFC 8414, RFC 9728). */
function discoveryMembers(
  { baseUrl, furtherPlans: { privateKeyJwt } }: EngineDependencies,
  authMethods: readonly string[],
): Configuration['discovery'] {
  const algorithms = privateKeyJwt ? [...proofAlgorithms] : undefined
  return {
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    // With `private_key_jwt`, the metadata must list the algorithms for these endpoints, too (RFC 8414 §2).
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    registration_endpoint: baseUrl + paths.registration,
    protected_resources: [baseUrl],
    service_documentation: baseUrl + paths.authMd,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    ui_locales_supported: [...languages],
  }
}

function features(dependencies: EngineDependencies): Configuration['features'] {
  const { resources, furtherPlans, proofs, documents } = dependencies
  return {
    devInteractions: { enabled: false },
    externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    clientIdMetadataDocument: documentFeature(documents),
    dPoP: {
      enabled: furtherPlans.dpop,
      ...(furtherPlans.dpop && { nonceSecret: proofs.nonceKey }),
    },
    backchannelLogout: { enabled: furtherPlans.backChannelLogout },
    pushedAuthorizationRequests: { enabled: furtherPlans.pushedAuthorizationRequests },
    claimsParameter: { enabled: true },
    revocation: {
      enabled: true,
      // A client may revoke only its own tokens (RFC 7009 §2.1; design 14).
      allowedPolicy: (_ctx, { clientId }, token) => token.clientId === clientId,
    },
    // Our own routes handle UserInfo and introspection. The engine's introspection is enabled only for discovery.
    introspection: { enabled: true, allowedPolicy: () => false },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: renderSignOut,
      postLogoutSuccessSource: renderSignedOut,
    },
    resourceIndicators: resourceIndicators(resources),
  }
}

/** Validates the algorithm, audience and issue time of a client assertion. @throws InvalidClientAuth */
function assertAssertion(
  { oidc }: KoaContextWithOIDC,
  claims: { readonly aud?: unknown; readonly iat?: number },
  ...[{ alg }, client]: readonly [header: { readonly alg?: unknown }, client: EngineClient]
): void {
  if (
    !proofAlgorithms.some((name) => name === alg) &&
    client['tokenEndpointAuthSigningAlg'] !== alg
  )
    throw new errors.InvalidClientAuth(`the assertion must use alg ${proofAlgorithms.join(' or ')}`)
  const audiences = [oidc.issuer, ...oidc.clientJwtAuthExpectedAudience()]
  // The engine uses this clock for the assertion's other times, too.
  const rules = { choseFapi: choseFapi(client), nowMs: Date.now() }
  const problem = problemOfAssertion(claims, audiences, rules)
  if (problem !== undefined) throw new errors.InvalidClientAuth(problem)
}

/** The engine's replay detection, which is missing from its types. */
interface ReplayDetection {
  unique(iss: string, jti: string, exp: number): Promise<boolean>
}

/**
 * Makes the engine record used assertions and DPoP proofs in our store. The engine's own code reads before it writes,
 * so two simultaneous uses could both pass.
 */
function rememberProofsOnce(provider: Provider, useOnce: UseOnce): void {
  const detection = provider.ReplayDetection as unknown as ReplayDetection
  detection.unique = async (whose, jti, endsAtSeconds) => {
    const madeAtSeconds = madeAt(whose, jti)
    const isFirst = (await useOnce({ whose, jti, endsAtSeconds, madeAtSeconds })) === 'first'
    const { ctx } = Provider
    // A DPoP proof shows possession of a key but does not authenticate the client.
    if (isFirst && whose === ctx?.oidc?.client?.clientId) noteAuthenticatedClient(ctx, whose)
    return isFirst
  }
}

/**
 * Returns the `iat` of the assertion or DPoP proof that the engine has just verified. If the request has both, the
 * other may not be verified yet, so `jti` must match.
 */
function madeAt(whose: string, jti: string): number | undefined {
  const { ctx } = Provider
  const assertion = unverifiedClaims(ctx?.oidc?.params?.['client_assertion'])
  if (assertion?.iss === whose) return assertion.jti === jti ? assertion.iat : undefined
  const proof = unverifiedClaims(ctx?.get('dpop'))
  return proof?.jti === jti ? proof.iat : undefined
}
