import { type ClientMetadata, Provider } from 'oidc-provider'

import { proveClient } from '../../platform/limits/client-requests.ts'
import { type Client, requestableScopes } from './client.ts'
import { demandsFapi } from './further-plans.ts'
import { matchesSecret } from './secret.ts'

/**
 * How a client of ours is shown to the engine, and read back from it. Policy becomes metadata:
 * above all `scope`, which the engine enforces at every authorization request (design 2).
 */
export const extraClientProperties = [
  'x_origin',
  'x_site_id',
  'x_site_name',
  'x_state',
  'x_secret_digests',
  'x_reviewed',
  'x_may_write_somewhere',
  'x_fingerprint',
  'x_pattern_callback',
] as const

export type EngineClient = InstanceType<Provider['Client']>

/** What our hooks need to know of a client that the engine holds. */
export type ClientFacts = Pick<
  Client,
  'clientId' | 'name' | 'origin' | 'siteId' | 'siteName' | 'state' | 'document' | 'patternCallback'
>

export function toClientMetadata(client: Client): ClientMetadata {
  const { keys, logout, document, authMethod } = client
  const scopes = requestableScopes(client)
  return {
    client_id: client.clientId,
    client_name: client.name,
    application_type: client.applicationType,
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...(client.postLogoutRedirectUris ?? [])],
    token_endpoint_auth_method: authMethod,
    grant_types: grantTypesOf(client),
    response_types: client.origin === 'resource_server' ? [] : ['code'],
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // The engine demands a secret of a confidential client, and we know digests only: comparing is
    // replaced below, and this constant is no secret.
    ...(authMethod === 'client_secret_post' && { client_secret: 'compared-by-digest' }),
    ...(keys &&
      ('jwks' in keys
        ? { jwks: keys.jwks as ClientMetadata['jwks'] }
        : { jwks_uri: keys.jwksUri })),
    ...(logout && {
      backchannel_logout_uri: logout.uri,
      backchannel_logout_session_required: logout.sessionRequired,
    }),
    ...(client.pushesRequests && { require_pushed_authorization_requests: true }),
    ...(client.bindsTokens && { dpop_bound_access_tokens: true }),
    x_origin: client.origin,
    x_site_id: client.siteId,
    x_site_name: client.siteName,
    x_state: client.state,
    x_secret_digests: (client.secretDigests ?? []).join(' '),
    x_reviewed: document?.reviewed,
    x_may_write_somewhere: document?.mayWriteSomewhere,
    x_fingerprint: document?.fingerprint,
    x_pattern_callback: client.patternCallback,
  }
}

/** This service's own pages learn who the person is once, and refresh nothing. */
function grantTypesOf({ origin, grantTypes }: Client): string[] {
  if (origin === 'resource_server') return []
  return origin === 'first_party'
    ? ['authorization_code']
    : [...(grantTypes ?? ['authorization_code', 'refresh_token'])]
}

/** `demandsFapi` of a client as the engine has it. */
export function choseFapi(client: EngineClient): boolean {
  return demandsFapi({
    pushesRequests: client['requirePushedAuthorizationRequests'] === true,
    bindsTokens: client['dpopBoundAccessTokens'] === true,
  })
}

/** Makes the engine compare secrets with the digests of the one or two that are live. */
export function compareSecretsByDigest(provider: Provider): void {
  provider.Client.prototype.compareClientSecret = function compareClientSecret(
    this: EngineClient,
    secret: string,
  ) {
    const matches = matchesSecret(secret, String(this['x_secret_digests'] ?? '').split(' '))
    if (matches) proveClient(Provider.ctx, this.clientId)
    return matches
  }
}

export function factsOf(client: EngineClient): ClientFacts {
  const text = (name: string) => (typeof client[name] === 'string' ? client[name] : undefined)
  const fingerprint = text('x_fingerprint')
  return {
    clientId: client.clientId,
    name: client.clientName ?? client.clientId,
    origin: (text('x_origin') ?? 'document') as ClientFacts['origin'],
    siteId: text('x_site_id'),
    siteName: text('x_site_name'),
    state: (text('x_state') ?? 'active') as ClientFacts['state'],
    document:
      fingerprint === undefined
        ? undefined
        : {
            fingerprint,
            reviewed: client['x_reviewed'] === true,
            mayWriteSomewhere: client['x_may_write_somewhere'] === true,
          },
    patternCallback: text('x_pattern_callback'),
  }
}
