import type { Context } from 'koa'

import type { ClientOrigin } from '../../directory/scopes/policy.ts'
import type { HeldSite } from '../../directory/sites/site-choice.ts'

/**
 * What this surface needs of the engine: the interaction that waits for this browser, and the ways
 * to finish it. The engine side implements it; each way returns the address to go on to.
 */
export interface Interactions {
  /** @throws interactionGone when it is over, expired, or belongs to another browser */
  find(ctx: Context): Promise<PendingInteraction>
  signedIn(ctx: Context, personId: string): Promise<string>
  siteChosen(ctx: Context, siteId: string | undefined): Promise<string>
  consented(ctx: Context): Promise<string>
  /** Sends `access_denied` to the client, with state and iss. */
  refused(ctx: Context, why: string): Promise<string>
}

export type PromptName = 'login' | 'select_account' | 'consent'

export interface PendingInteraction {
  readonly uid: string
  readonly prompt: PromptName
  readonly client: AskingClient
  /** Where the person goes back to; it was checked already. */
  readonly redirectUri: string
  /** Who is signed in; undefined while the prompt is `login`. */
  readonly personId: string | undefined
  readonly loginHint: string | undefined
  /** The requested scopes that the catalogue knows. */
  readonly scopes: readonly string[]
  /** At `select_account` the sites to choose from, at `consent` the site of the grant, if any. */
  readonly sites: readonly HeldSite[]
  /** Address that starts the same request again with the sign-in page. */
  readonly otherAccountHref: string
}

export interface AskingClient {
  readonly clientId: string
  readonly name: string
  readonly origin: ClientOrigin | 'first_party'
  /** The site that a site's own client is bound to. */
  readonly siteId: string | undefined
  readonly siteName: string | undefined
  /** The host of its metadata document, when it has one. */
  readonly describedAt?: string | undefined
  /** Whether an operator reviewed that document. */
  readonly reviewed?: boolean | undefined
  /** Whether the person goes back to an address that one connection of a platform registered. */
  readonly byPattern?: boolean | undefined
}
