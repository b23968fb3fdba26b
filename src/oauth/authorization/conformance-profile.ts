import { exportJWK, generateKeyPair } from 'jose'
import type { Configuration, JWK } from 'oidc-provider'

import type { Config } from '../../config/config.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { Client } from '../clients/client.ts'
import { toClientMetadata } from '../clients/client-metadata.ts'
import type { OptionalProtocols } from '../clients/optional-protocols.ts'

export type ConformanceProfile = Awaited<ReturnType<typeof makeConformanceProfile>>

export type ConformanceSettings = NonNullable<Config['conformance']>

/** Scopes that only the conformance suite's clients may request. They are ignored in requests from other clients. */
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
  const { suiteBaseUrl, alias, claims } = settings
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const suite = `${suiteBaseUrl}/test/a/${alias}`
  const logout = { uri: `${suite}/backchannel_logout`, sessionRequired: false }
  const clients = settings.clients.map(
    ({ client_id: clientId, client_secret: secret, jwks }): Client => ({
      clientId,
      origin: 'integration',
      name: 'OpenID conformance suite',
      redirectUris: [`${suite}/callback`],
      postLogoutRedirectUris: [`${suite}/post_logout_redirect`],
      authMethod: jwks ? 'private_key_jwt' : 'client_secret_post',
      applicationType: 'web',
      secretDigests: secret === undefined ? [] : [sha256(secret)],
      keys: jwks && { jwks },
      logout: backChannelLogout ? logout : undefined,
      state: 'active',
    }),
  )
  const findClient = (clientId = '') => clients.find((client) => client.clientId === clientId)
  return {
    claims,
    clients: clients.map((client, position) => ({
      ...toClientMetadata(client),
      // Keep the configured authentication method, which may be HTTP Basic.
      ...settings.clients[position],
      scope: [...scopeNames('identity'), ...conformanceScopes].join(' '),
    })),
    /** An RS256 key that is published but never signs, because no client requests RS256. */
    publishedKey: {
      ...(await exportJWK(privateKey)),
      kid: 'conformance',
      alg: 'RS256',
      use: 'sig',
    } as JWK,
    claimsByScope: suiteClaims,
    covers: (clientId: string | undefined) => findClient(clientId) !== undefined,
    findClient,
  }
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
