/** Links an identity at an identity provider to the account of the person who signs in during the same interaction. */

import type { Context } from 'koa'

import type { Authentication } from '../../directory/people/authentication.ts'
import type { ListProviders } from '../../directory/people/identity-providers.ts'
import type { LinkedIdentities, NewIdentity } from '../../directory/people/linked-identities.ts'
import { openOrNothing, type Seals } from '../../directory/people/second-factors.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'

/** An identity to link, with the address that its provider named. */
export interface PendingLink extends NewIdentity {
  readonly email: string
}

/** What the sign-in page needs for its buttons and the note about a pending link. */
export interface WaysPorts {
  readonly providers: { readonly list: ListProviders }
  readonly seals: Seals
}

interface LinkPorts {
  readonly identities: LinkedIdentities
  readonly seals: Seals
}

export const pendingLinks = (seals: Seals) => makeKeptValues<PendingLink>('gatehouse_link', seals)

/** Returns the text of the sign-in page about an identity. It does not reveal whether the account exists. */
export function noteOf({ provider: { name }, email }: PendingLink): string {
  return `${name} says that your address is ${email}. If you have an account with this address, sign in to it once as before. After that, you can sign in with ${name}.`
}

/** Links the pending identity to the person who has signed in, if the address matches and the sign-in is not a site's. */
export async function completeLink(
  ctx: Context,
  uid: string,
  { personId, siteId }: Authentication,
  { identities, seals }: LinkPorts,
): Promise<void> {
  const pending = pendingLinks(seals)
  const link = pending.read(ctx, uid)
  if (!link) return
  pending.set(ctx, uid, undefined)
  if (siteId === undefined) await identities.link(link, personId, callerOf(ctx))
}

/** How long a person has for the pages of a provider, in seconds. */
const KEPT_SECONDS = 3600

/** Creates the functions for a sealed cookie of an interaction. Interaction and cookie belong to one browser. */
export function makeKeptValues<Value>(cookie: string, seals: Seals) {
  const labelOf = (uid: string) => `${cookie} ${uid}`
  return {
    /** Stores the value; undefined removes it. */
    set(ctx: Context, uid: string, value: Value | undefined): void {
      ctx.cookies.set(cookie, value ? seals.seal(JSON.stringify(value), labelOf(uid)) : null, {
        ...{ httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: false, overwrite: true },
        path: addressOf(pages.login, { uid }),
        maxAge: KEPT_SECONDS * 1000,
      })
    },
    /** Reads the value; undefined if there is none, or it was not sealed for this interaction. */
    read(ctx: Context, uid: string): Value | undefined {
      const opened = openOrNothing(seals, ctx.cookies.get(cookie) ?? '', labelOf(uid))
      // No validation is needed: only `set` can have sealed the content.
      return opened === undefined ? undefined : JSON.parse(opened)
    },
  }
}
