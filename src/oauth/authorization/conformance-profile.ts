import { exportJWK, generateKeyPair } from 'jose'
import type { ClientMetadata, Configuration, JWK } from 'oidc-provider'

import type { Config } from '../../config/config.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { AuthenticatingClient } from '../clients/authenticate-client.ts'
import type { OptionalProtocols } from '../clients/optional-protocols.ts'

export type ConformanceProfile = Awaited<ReturnType<typeof makeConformanceProfile>>

export type ConformanceSettings = NonNullable<Config['conformance']>

/** Scopes that only the conformance suite's clients may request. They are ignored in requests of other clients. */
export const conformanceScopes = ['address', 'phone', 'offline_access']

const suiteClaims = {
  openid: ['sub'],
  profile: [
    ...['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'preferred_username'],
    ...['profile', 'picture', 'website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
    ...['org_id', 'roles'],
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
}

/**
 * Creates the exceptions for the OpenID Foundation's conformance suite (design 26). Most modules of its OpenID Connect
 * plans send no PKCE parameters, and the plans expect RS256 in the metadata. The profile is off by default. With
 * production settings, `environment.ts` rejects the profile unless it is forced.
 */
export async function makeConformanceProfile(
  settings: ConformanceSettings,
  { backChannelLogout }: Pick<OptionalProtocols, 'backChannelLogout'>,
) {
  const { suiteBaseUrl, alias, clients, claims } = settings
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const suite = `${suiteBaseUrl}/test/a/${alias}`
  const covered = new Map(clients.map((client) => [client.client_id, client]))
  return {
    claims,
    clients: clients.map(
      (client): ClientMetadata => ({
        ...client,
        client_name: 'OpenID conformance suite',
        redirect_uris: [`${suite}/callback`],
        post_logout_redirect_uris: [`${suite}/post_logout_redirect`],
        ...(backChannelLogout && { backchannel_logout_uri: `${suite}/backchannel_logout` }),
        scope: [...scopeNames('identity'), ...conformanceScopes].join(' '),
        x_facts: { origin: 'integration', state: 'active' },
        x_secret_digests: digestsOf(client),
      }),
    ),
    /** An RS256 key that is published but never signs, because no client requests RS256. */
    publishedKey: {
      ...(await exportJWK(privateKey)),
      kid: 'conformance',
      alg: 'RS256',
      use: 'sig',
    } as JWK,
    claimsByScope: suiteClaims,
    covers: (clientId: string | undefined) => covered.has(clientId ?? ''),
    findClient(clientId: string): AuthenticatingClient | undefined {
      const client = covered.get(clientId)
      return (
        client && {
          clientId,
          origin: 'integration',
          authMethod: client.jwks ? 'private_key_jwt' : 'client_secret_post',
          state: 'active',
          secretDigests: digestsOf(client),
        }
      )
    },
  }
}

function digestsOf({ client_secret: secret }: ConformanceSettings['clients'][number]): string[] {
  return secret === undefined ? [] : [sha256(secret)]
}

/** Adds the conformance profile to the engine's settings: its clients, key, scopes, claims, RS256 and relaxed PKCE. */
export function overlay(configuration: Configuration, profile: ConformanceProfile): Configuration {
  return {
    ...configuration,
    clients: profile.clients,
    jwks: { keys: [...(configuration.jwks?.keys ?? []), profile.publishedKey] },
    scopes: [...scopeNames(), ...conformanceScopes],
    claims: { ...configuration.claims, ...profile.claimsByScope },
    enabledJWA: { ...configuration.enabledJWA, idTokenSigningAlgValues: ['ES256', 'RS256'] },
    pkce: {
      required: (_ctx, client) =>
        !(profile.covers(client.clientId) && client.clientAuthMethod !== 'none'),
    },
  }
}
