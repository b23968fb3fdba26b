/** Composes the service's own pages: account, mailed links, administration, and connecting assistants. */

import type { Api, Discovery } from '../api/api.ts'
import type { Config } from '../config/config.ts'
import type { Directory } from '../directory/directory.ts'
import type { ScopeUses } from '../directory/scopes/scope-uses.ts'
import type { Keys } from '../oauth/keys/key-rings.ts'
import type { Oauth } from '../oauth/oauth.ts'
import { makeVisitorForms } from '../platform/http/page-form.ts'
import type { Platform } from '../platform/platform.ts'
import type { WebhookEndpoints } from '../school/webhooks/webhook-endpoints.ts'
import { makeAccountPages } from './account/account-pages.ts'
import { accountRoutes } from './account/account-routes.ts'
import { dataRoutes } from './account/data-routes.ts'
import { securityRoutes } from './account/security-routes.ts'
import { sessionRoutes } from './account/session-routes.ts'
import {
  identityRoutes,
  passkeyRoutes,
  secondFactorRoutes,
} from './account/sign-in-method-routes.ts'
import { adminRoutes } from './admin/admin-routes.ts'
import { makeRefusedRequests } from './applications/refused-requests.ts'
import { connectRoutes } from './assistants/connect-routes.ts'
import { makeListPages } from './relying-party/list-pages.ts'
import { makePageSessions } from './relying-party/page-session.ts'
import { makePendingSignIns, ownClient } from './relying-party/sign-in.ts'
import { makeSignedInPages, type SignedInPagesPorts } from './relying-party/signed-in-pages.ts'
import { joiningRoutes } from './signed-out/joining-routes.ts'
import { deletionRoutes, recoveryRoutes } from './signed-out/mailed-link-routes.ts'

export interface PagesPorts extends Pick<SignedInPagesPorts, 'handler'> {
  readonly keys: Keys
  readonly scopeUses: ScopeUses
}

export function makePages(
  { baseUrl, service, assistants }: Config,
  platform: Platform,
  directory: Directory,
  { keys, scopeUses, handler }: PagesPorts,
) {
  const { people, browserSessions, signIn, links, linkRequests, siteProviders } = directory
  const { secretRoot: seals, cursors } = keys
  const sessionSeconds = service.lifetimes.pageSessionSeconds
  const { formKey } = seals
  const settings = { baseUrl, people, browserSessions, formKey, sessionSeconds }
  const sessions = makePageSessions(platform.state, settings)
  const { freshSeconds, passwordCharactersMin } = service.signIn
  const visitors = makeVisitorForms(settings)
  const pending = makePendingSignIns({ seals, visitors, now: platform.now })
  const signedIn = { baseUrl, pending, sessions, freshSeconds, handler }
  const signedInPages = makeSignedInPages(platform, signedIn)
  const listPages = makeListPages(cursors)
  const { database, noteEvent, now } = platform
  const ownPages = { database, baseUrl, scopeUses, signedInPages, listPages, siteProviders, now }
  const refusals = makeRefusedRequests(database, now)
  const { hash: hashPassword } = directory.passwords
  const security = { signIn, sessions, hashPassword, passwordCharactersMin, noteEvent }
  const visitorPages = {
    database,
    links,
    noteEvent,
    linkRequests,
    visitors,
    signedInPages,
    hashPassword,
    passwordCharactersMin,
    now,
  }
  return {
    client: ownClient(baseUrl, service.name),
    refusals,
    /** Creates the routes, in the order in which they handle a request. */
    routes(api: Api, discovery: Discovery, oauth: Oauth, webhooks: WebhookEndpoints) {
      const { authorization, signOuts } = oauth
      const ofAdmin = { service, assistants, seals, refusals, api, discovery, oauth, webhooks }
      const accountPages = makeAccountPages(ownPages)
      accountRoutes(accountPages, api.member)
      securityRoutes(accountPages, security, authorization.renewSession)
      passkeyRoutes(accountPages, directory.passkeys)
      identityRoutes(accountPages, directory.identities)
      secondFactorRoutes(accountPages, directory.secondFactors)
      sessionRoutes(accountPages, { sessions, browserSessions, noteEvent, signOuts })
      dataRoutes(accountPages, visitorPages)
      return [
        connectRoutes(ownPages, assistants),
        signedInPages.followLogout(),
        signedInPages.routes(),
        recoveryRoutes(visitorPages),
        joiningRoutes(visitorPages),
        deletionRoutes(visitorPages, service.lifetimes.accountDeletionSeconds),
        accountPages.router,
        adminRoutes(ownPages, ofAdmin),
      ]
    },
  }
}
