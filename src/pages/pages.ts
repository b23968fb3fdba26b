/**
 * The room of how people reach the service: the account of a member, the administration of a site, the steps to
 * connect an assistant. These pages are a client of this service (decision 8). Sign-in and consent are the room `oauth`.
 */

import type { Api, Discovery } from '../api/api.ts'
import type { Assistant } from '../config/assistant-table.ts'
import type { Directory } from '../directory/directory.ts'
import type { OpenedScopes } from '../directory/scopes/opened.ts'
import type { FurtherPlans } from '../oauth/clients/further-plans.ts'
import type { Keys } from '../oauth/keys/keys.ts'
import type { Platform } from '../platform/platform.ts'
import { accountRoutes } from './account/routes.ts'
import { adminRoutes } from './admin/routes.ts'
import { makeClientRefusals } from './applications/application-refusals.ts'
import { connectRoutes } from './assistants/connect-routes.ts'
import { makeOwnPages, type OwnPagesPorts } from './relying-party/own-pages.ts'

export interface PagesSettings {
  readonly baseUrl: string
  readonly serviceName: string
  readonly sessionSeconds: number
  readonly assistants: readonly Assistant[]
  readonly loopbackHosts: readonly string[]
  readonly furtherPlans: FurtherPlans
}

export interface PagesPorts {
  readonly keys: Keys
  readonly opened: OpenedScopes
  /** The application with the current keys; own pages call back into it, so resolve it lazily. */
  readonly handler: OwnPagesPorts['handler']
}

/** What the pages show, and what exists only when the rest has been made. */
export interface PageSources {
  readonly api: Api
  readonly discovery: Discovery
  readonly acceptsDocuments: boolean
}

export function makePages(
  platform: Platform,
  { people }: Directory,
  settings: PagesSettings,
  { keys, opened, handler }: PagesPorts,
) {
  const { database, state, noteEvent, callerLimits, now } = platform
  const { baseUrl, serviceName, sessionSeconds, assistants, loopbackHosts, furtherPlans } = settings
  const { secretRoot, cursors } = keys
  const { client, signedInPages, listPages } = makeOwnPages({
    baseUrl,
    serviceName,
    state,
    people,
    seals: secretRoot,
    formKey: secretRoot.formKey,
    cursors,
    sessionSeconds,
    callerLimits,
    noteEvent,
    handler,
    now,
  })
  const refusals = makeClientRefusals(database)
  return {
    client,
    refusals,
    /** The routes in the order in which they see a request. */
    routes: ({ api, discovery, acceptsDocuments }: PageSources) => [
      connectRoutes({ database, baseUrl, assistants, listPages }),
      signedInPages.followLogout(),
      signedInPages.routes(),
      accountRoutes({
        database,
        signedInPages,
        listPages,
        opened,
        tryMemberQuery: api.member.tryMemberQuery,
        queryTool: api.member.queryTool,
        baseUrl,
        now,
      }),
      adminRoutes({
        database,
        state,
        seals: secretRoot,
        signedInPages,
        listPages,
        refusals,
        acceptsDocuments,
        loopbackHosts,
        assistants,
        discovery,
        furtherPlans,
        baseUrl,
        opened,
        tryQuery: api.admin.tryQuery,
        queryTool: api.member.queryTool,
        now,
      }),
    ],
  }
}
