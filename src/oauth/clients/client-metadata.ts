import { type ClientMetadata, Provider } from 'oidc-provider'

import { noteAuthenticatedClient } from '../../platform/limits/charge-requests.ts'
import { type Client, requestableScopes } from './client.ts'
import { demandsFapi } from './optional-protocols.ts'
import { matchesSecret } from './secret.ts'

/** Names of our own client metadata, which the engine accepts and keeps. */
export const extraClientProperties = ['x_facts', 'x_secret_digests'] as const

export type EngineClient = InstanceType<Provider['Client']>

/** Client properties that the engine does not know, kept in `x_facts`. */
export type ClientFacts = Pick<
  Client,
  'origin' | 'siteId' | 'siteName' | 'state' | 'document' | 'patternCallback'
>

/** Converts a client to engine metadata. The engine enforces the client's `scope` at every authorization (design 2). */
export function toClientMetadata(client: Client): ClientMetadata {
  const { keys, logout, authMethod, origin, siteId, siteName, state } = client
  const { document, patternCallback, signingAlgorithm } = client
  const scopes = requestableScopes(client)
  return {
    client_id: client.clientId,
    client_name: client.name,
    application_type: client.applicationType,
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...(client.postLogoutRedirectUris ?? [])],
    token_endpoint_auth_method: authMethod,
    grant_types: grantTypesOf(client),
    response_types: origin === 'resource_server' ? [] : ['code'],
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // The engine requires a secret, but only digests are stored. `compareSecretsByDigest` replaces the engine's comparison.
    ...(authMethod === 'client_secret_post' && { client_secret: 'compared-by-digest' }),
    ...(keys &&
      ('jwks' in keys
        ? { jwks: keys.jwks as ClientMetadata['jwks'] }
        : { jwks_uri: keys.jwksUri })),
    ...(authMethod === 'private_key_jwt' && { token_endpoint_auth_signing_alg: signingAlgorithm }),
    ...(logout && {
      backchannel_logout_uri: logout.uri,
      backchannel_logout_session_required: logout.sessionRequired,
    }),
    ...(client.pushesRequests && { require_pushed_authorization_requests: true }),
    ...(client.bindsTokens && { dpop_bound_access_tokens: true }),
    x_facts: { origin, siteId, siteName, state, document, patternCallback } satisfies ClientFacts,
    x_secret_digests: client.secretDigests ?? [],
  }
}

function grantTypesOf({ origin, grantTypes }: Client): string[] {
  if (origin === 'resource_server') return []
  // Our own pages only sign people in, so they need no refresh tokens.
  return origin === 'first_party'
    ? ['authorization_code']
    : [...(grantTypes ?? ['authorization_code', 'refresh_token'])]
}

/** Whether an engine client opted into part of the FAPI 2.0 Security Profile. */
export function choseFapi(client: EngineClient): boolean {
  return demandsFapi({
    pushesRequests: client['requirePushedAuthorizationRequests'] === true,
    bindsTokens: client['dpopBoundAccessTokens'] === true,
  })
}

/** Makes the engine compare secrets by digest. A request with a valid secret counts towards the client's limit. */
export function compareSecretsByDigest(provider: Provider): void {
  provider.Client.prototype.compareClientSecret = function compareClientSecret(
    this: EngineClient,
    secret: string,
  ) {
    const matches = matchesSecret(secret, this['x_secret_digests'] as string[])
    if (matches) noteAuthenticatedClient(Provider.ctx, this.clientId)
    return matches
  }
}

export function factsOfClient(client: EngineClient) {
  const facts = client['x_facts'] as ClientFacts
  return { ...facts, clientId: client.clientId, name: client.clientName ?? client.clientId }
}
