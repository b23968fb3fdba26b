import type { Seals } from '../../platform/http/kept-values.ts'
import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import { type IdentityProvider, makeProviderSignIn } from './identity-providers.ts'
import { makeLinkedIdentities } from './linked-identities.ts'
import { makeSiteProviders } from './site-providers.ts'

export type ConfiguredProvider = Omit<
  IdentityProvider,
  'clientSecret' | 'siteId' | 'role' | 'isOnlyWay'
>

type IdentityPorts = Omit<Parameters<typeof makeLinkedIdentities>[0], 'platformProviders'> & {
  readonly seals: Seals
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
  { fetch }: { readonly fetch: SendOutgoing },
  { baseUrl, providerSecrets, service }: IdentitySettings,
  ports: IdentityPorts,
) {
  const { database, seals, now } = ports
  const siteProviders = makeSiteProviders(database, seals)
  const ofPlatform: readonly IdentityProvider[] = service.signIn.identityProviders.map(
    (provider) => ({ ...provider, clientSecret: providerSecrets[provider.id] ?? '' }),
  )
  const list = async (siteId: string | undefined) => {
    if (siteId === undefined) return ofPlatform
    const own: readonly IdentityProvider[] = await siteProviders.list(siteId)
    return own[0]?.isOnlyWay ? own : ofPlatform.concat(own)
  }
  return {
    siteProviders,
    providers: makeProviderSignIn({ baseUrl, fetch, now }, list),
    identities: makeLinkedIdentities({
      ...ports,
      platformProviders: new Map(ofPlatform.map(({ id, name }) => [id, name])),
    }),
  }
}
