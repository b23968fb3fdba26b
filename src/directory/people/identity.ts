import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import type { Database } from '../../platform/store/database.ts'
import { type IdentityProvider, makeProviderSignIn } from './identity-providers.ts'
import { makeLinkedIdentities } from './linked-identities.ts'
import { makeSiteProviders, type SecretSeals } from './site-providers.ts'

/** A provider of the platform, as configured. */
export type ConfiguredProvider = Omit<IdentityProvider, 'clientSecret' | 'siteId' | 'role'>

interface IdentityPorts {
  readonly database: Database
  readonly fetch: SendOutgoing
  readonly now: () => number
}

interface IdentitySettings {
  readonly baseUrl: string
  /** The client secrets of the platform's providers, by id. */
  readonly providerSecrets: Readonly<Record<string, string>>
  readonly service: {
    readonly signIn: { readonly identityProviders: readonly ConfiguredProvider[] }
  }
}

/** Creates the identity providers of the platform and of sites, and the store of linked identities. */
export function makeIdentity(
  { database, fetch, now }: IdentityPorts,
  { baseUrl, providerSecrets, service }: IdentitySettings,
  seals: SecretSeals,
) {
  const siteProviders = makeSiteProviders(database, seals)
  const ofPlatform: readonly IdentityProvider[] = service.signIn.identityProviders.map(
    (provider) => ({ ...provider, clientSecret: providerSecrets[provider.id] ?? '' }),
  )
  const list = async (siteId: string | undefined) =>
    siteId === undefined ? ofPlatform : ofPlatform.concat(await siteProviders.list(siteId))
  return {
    seals,
    siteProviders,
    providers: makeProviderSignIn({ baseUrl, fetch, now }, list),
    identities: makeLinkedIdentities(database, now),
  }
}
