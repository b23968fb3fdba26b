/** Decides which identity providers a sign-in page offers, and whether no other method is allowed. */

import type { Context } from 'koa'

import type { ListProviders } from '../../directory/people/identity-providers.ts'
import type { NewIdentity } from '../../directory/people/linked-identities.ts'
import { makeKeptValues, type Seals } from '../../platform/http/kept-values.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import type { PendingInteraction } from '../authorization/engine-interactions.ts'

/** An identity to link at the next sign-in, with the e-mail address from its provider. */
export interface PendingLink extends NewIdentity {
  readonly email: string
}

export interface WaysPorts {
  readonly providers: { readonly list: ListProviders }
  readonly seals: Seals
  readonly now: () => number
}

/** Time limit in seconds for the pages of a provider, and for a sign-in that links an identity. */
export const KEPT_SECONDS = 3600

/** Returns the path to which the cookies of an interaction are sent. */
export const pathOf = (uid: string) => addressOf(pages.login, { uid })

export const pendingLinks = (ports: WaysPorts) =>
  makeKeptValues<PendingLink>('gatehouse_link', KEPT_SECONDS, ports, pathOf)

/** Finds the sign-in methods for a request. */
export async function findWays(
  ctx: Context,
  { uid, client, sites }: PendingInteraction,
  ports: WaysPorts,
) {
  // After a site choice, the chosen site decides.
  const siteId = client.siteId ?? sites[0]?.id
  const providers = await ports.providers.list(siteId)
  const link = pendingLinks(ports).read(ctx, uid)
  const isExclusive = providers[0]?.isOnlyWay === true
  // To link an identity, the person must sign in once by another method, even if the provider is the only way.
  return { siteId, providers, link, isExclusive, isOnly: isExclusive && !link }
}
