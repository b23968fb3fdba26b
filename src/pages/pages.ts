/**
 * The room of how people reach the service: the account of a member, the administration of a site, the steps to
 * connect an assistant. These pages are a client of this service (decision 8); sign-in and consent are in `oauth`.
 */

import type { Api, Discovery } from '../api/api.ts'
import type { Config } from '../config/config.ts'
import type { Directory } from '../directory/directory.ts'
import type { ScopeUses } from '../directory/scopes/scope-uses.ts'
import type { Keys } from '../oauth/keys/keys.ts'
import type { Platform } from '../platform/platform.ts'
import { accountRoutes } from './account/routes.ts'
import { adminRoutes } from './admin/routes.ts'
import { makeClientRefusals } from './applications/client-refusals.ts'
import { connectRoutes } from './assistants/connect-routes.ts'
import { makeListPages } from './relying-party/list-pages.ts'
import { makeSessions } from './relying-party/page-session.ts'
import { ownClient } from './relying-party/sign-in.ts'
import { makeSignedInPages, type SignedInPagesPorts } from './relying-party/signed-in-pages.ts'

export interface PagesPorts {
  readonly keys: Keys
  readonly scopeUses: ScopeUses
  /** The application with the current keys; own pages call back into it, so resolve it lazily. */
  readonly handler: SignedInPagesPorts['handler']
}

/** What the pages show, and what exists only when the rest has been made. */
export interface PageSources {
  readonly api: Api
  readonly discovery: Discovery
  readonly acceptsDocuments: boolean
}

export function makePages(
  { baseUrl, service, assistants }: Config,
  platform: Platform,
  { people }: Directory,
  { keys, scopeUses, handler }: PagesPorts,
) {
  const { database, state, noteEvent, requestLimits, now } = platform
  const { secretRoot, cursors } = keys
  const sessions = makeSessions({
    baseUrl,
    state,
    people,
    formKey: secretRoot.formKey,
    sessionSeconds: service.lifetimes.pageSessionSeconds,
    noteEvent,
    now,
  })
  const seals = secretRoot
  const signedInPages = makeSignedInPages({
    baseUrl,
    seals,
    sessions,
    requestLimits,
    handler,
    now,
  })
  const listPages = makeListPages(cursors)
  const ownPages = { database, baseUrl, scopeUses, signedInPages, listPages, now }
  const refusals = makeClientRefusals(database)
  return {
    client: ownClient(baseUrl, service.name),
    refusals,
    /** The routes in the order in which they see a request. */
    routes: ({ api, discovery, acceptsDocuments }: PageSources) => [
      connectRoutes(ownPages, assistants),
      signedInPages.followLogout(),
      signedInPages.routes(),
      accountRoutes(ownPages, api.member),
      adminRoutes(ownPages, {
        state,
        seals,
        refusals,
        acceptsDocuments,
        loopbackHosts: service.loopbackHosts,
        assistants,
        discovery,
        furtherPlans: service.furtherPlans,
        tryQuery: api.admin.tryQuery,
        queryTool: api.member.queryTool,
      }),
    ],
  }
}
