import { exportJWK, generateKeyPair } from 'jose'
import type { ClientMetadata, Configuration, JWK } from 'oidc-provider'

import { digestSecret } from '../clients/secret.ts'
import { scopeNames } from '../scopes/catalogue.ts'

/**
 * The conformance profile (design 26): what the OpenID Foundation's suite demands against the
 * specification's rules, for the suite's own static confidential clients and for nobody else. The
 * suite sends no PKCE, authenticates with HTTP Basic, wants RS256 to be listed, and warns of any
 * profile claim in an id_token. Off by default; `environment.ts` refuses it beside production
 * settings.
 */
export interface ConformanceProfile {
  readonly clients: readonly ClientMetadata[]
  /** An RS256 key that is published and signs for nobody, since no client asks for it. */
  readonly publishedKey: JWK
  /** Every standard claim, for whoever signs in through one of these clients. */
  readonly claims: Readonly<Record<string, unknown>>
  covers(clientId: string | undefined): boolean
}

export interface ConformanceSettings {
  /** Address of the suite. */
  readonly suiteBaseUrl: string
  /** The suite's alias of this service, a part of the addresses it is redirected to. */
  readonly alias: string
  readonly clients: readonly ConformanceClient[]
  readonly claims: Readonly<Record<string, unknown>>
}

interface ConformanceClient {
  readonly client_id: string
  readonly client_secret: string
  readonly token_endpoint_auth_method: 'client_secret_basic' | 'client_secret_post'
}

/** Scopes that only the suite knows; for every other client they are unknown and are ignored. */
export const conformanceScopes = ['address', 'phone', 'offline_access']

const profileClaims = [
  ...['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'preferred_username'],
  ...['profile', 'picture', 'website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
  ...['org_id', 'roles'],
]

export async function makeConformanceProfile(
  settings: ConformanceSettings,
): Promise<ConformanceProfile> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const clientIds = new Set(settings.clients.map(({ client_id }) => client_id))
  return {
    clients: settings.clients.map((client) => clientMetadata(client, settings)),
    publishedKey: {
      ...(await exportJWK(privateKey)),
      kid: 'conformance',
      alg: 'RS256',
      use: 'sig',
    },
    claims: settings.claims,
    covers: (clientId) => clientId !== undefined && clientIds.has(clientId),
  }
}

function clientMetadata(
  { client_id, client_secret, token_endpoint_auth_method }: ConformanceClient,
  { suiteBaseUrl, alias }: ConformanceSettings,
): ClientMetadata {
  const suite = `${suiteBaseUrl}/test/a/${alias}`
  return {
    client_id,
    client_name: 'OpenID conformance suite',
    client_secret,
    token_endpoint_auth_method,
    redirect_uris: [`${suite}/callback`],
    post_logout_redirect_uris: [`${suite}/post_logout_redirect`],
    scope: [...scopeNames('identity'), ...conformanceScopes].join(' '),
    x_origin: 'integration',
    x_state: 'active',
    x_secret_digests: digestSecret(client_secret),
  }
}

/** The engine's settings while the profile is on, laid over those of every day. */
export function overlay(configuration: Configuration, profile: ConformanceProfile): Configuration {
  return {
    ...configuration,
    clients: [...profile.clients],
    jwks: { keys: [...(configuration.jwks?.keys ?? []), profile.publishedKey] },
    scopes: [...scopeNames(), ...conformanceScopes],
    claims: {
      ...configuration.claims,
      profile: profileClaims,
      email: ['email', 'email_verified'],
      address: ['address'],
      phone: ['phone_number', 'phone_number_verified'],
    },
    clientAuthMethods: ['none', 'client_secret_post', 'client_secret_basic'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'RS256'] },
    pkce: {
      required: (_ctx, client) =>
        !(profile.covers(client.clientId) && client.clientAuthMethod !== 'none'),
    },
  }
}
