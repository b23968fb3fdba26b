/** Decides which identity providers a sign-in page offers, and whether they are the only way to sign in. */

import type { Context } from 'koa'

import type { Directory } from '../../directory/directory.ts'
import type { Newcomer, NewIdentity } from '../../directory/people/linked-identities.ts'
import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'
import { makeKeptValues, type Seals } from '../../platform/http/kept-values.ts'
import type { VisitorForms } from '../../platform/http/page-form.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import type { callerOf } from '../../platform/http/request-log.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Interactions, PendingInteraction } from '../authorization/engine-interactions.ts'

/** The dependencies of the pages of an interaction. */
export interface InteractionPorts extends Pick<Platform, 'database' | 'noteEvent' | 'now'> {
  readonly directory: Directory
  readonly interactions: Interactions
  readonly scopeUses: ScopeUses
  readonly visitors: VisitorForms
  readonly seals: Seals
  readonly formKey: Buffer
  /** Creates an account for a person with a verified address. Returns whether it was created. */
  readonly createMember: (
    newcomer: Newcomer,
    caller: ReturnType<typeof callerOf>,
  ) => Promise<boolean>
}

/** The time limit, in seconds, for a visit to an identity provider, and for the sign-in that links an identity. */
export const KEPT_SECONDS = 3600

/** Returns the path to which the cookies of an interaction are sent. */
export const pathOf = (uid: string) => addressOf(pages.login, { uid })

/** Keeps the identity to link at the next sign-in, in a cookie of the interaction. */
export const pendingLinks = (ports: InteractionPorts) =>
  makeKeptValues<NewIdentity>('gatehouse_link', KEPT_SECONDS, ports, pathOf)

/** Finds the identity providers for a request, and the identity to link. */
export async function findWays(
  ctx: Context,
  { uid, client, sites }: PendingInteraction,
  ports: InteractionPorts,
) {
  // If the client belongs to no site, use the chosen site.
  const siteId = client.siteId ?? sites[0]?.id
  const providers = await ports.directory.providers.list(siteId)
  const link = pendingLinks(ports).read(ctx, uid)
  const isExclusive = providers[0]?.isOnlyWay === true
  // To link an identity, the person must sign in once by another method, even if the site accepts only its providers.
  return { siteId, providers, link, isExclusive, isOnly: isExclusive && !link }
}
