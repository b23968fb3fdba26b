import type { RequestListener } from 'node:http'

import type { Provider } from 'oidc-provider'

import { accountRoutes } from './account/routes.ts'
import type { AdminDependencies } from './admin/dependencies.ts'
import { makeNewSecrets } from './admin/new-secret.ts'
import { adminRoutes } from './admin/routes.ts'
import { findApplication, listApplications } from './applications/application-lists.ts'
import { type ClientRefusals, makeClientRefusals } from './applications/application-refusals.ts'
import { makeApplicationSecrets } from './applications/application-secrets.ts'
import { makeApplicationStore } from './applications/application-store.ts'
import { listChanges, recordAuditEvent } from './audit/audit-log.ts'
import type { Config } from './config/config.ts'
import { makeGrantLists } from './grants/grant-lists.ts'
import { makeGrantStore } from './grants/grant-store.ts'
import { type GrantUsage, makeGrantUsage } from './grants/grant-usage.ts'
import { removeApp } from './grants/remove-app.ts'
import { paths } from './http/paths.ts'
import type { LoggedRequest } from './http/request-log.ts'
import type { SecretRoot } from './keys/secret-root.ts'
import { makeDocumentReviews } from './metadata-documents/document-review.ts'
import { makePersonStore } from './people/person-store.ts'
import { type ListPages, makeListPages } from './relying-party/list-pages.ts'
import { makeOwnFetch } from './relying-party/own-request.ts'
import { makeSessions, type Sessions } from './relying-party/page-session.ts'
import { makeSignedInPages, type SignedInPages } from './relying-party/signed-in-pages.ts'
import { findAdminSite, listOperatedSites, switchMcpConnections } from './sites/site-admin.ts'
import { listHeldSites } from './sites/site-choice.ts'
import { makeCursors } from './store/cursor.ts'
import type { Database } from './store/database.ts'
import type { StateStore } from './store/state.ts'

/** The half of the composition root that makes /admin and /account; `gatehouse.ts` makes the rest. */
export interface PageParts {
  readonly config: Config
  readonly secretRoot: SecretRoot
  readonly database: Database
  readonly state: StateStore
  readonly records: PageRecords
  readonly now: () => number
}

/** What requests leave behind for the pages, written later and not while a request waits. */
export interface PageRecords {
  readonly usage: GrantUsage
  readonly refusals: ClientRefusals
  /** Called every few seconds and when the service stops. */
  flush(): Promise<void>
  /** Called every now and then: removes what expired. */
  prune(): Promise<void>
}

export function makePageRecords(database: Database, now: () => number): PageRecords {
  const usage = makeGrantUsage(database, now)
  const refusals = makeClientRefusals(database)
  const grants = makeGrantStore({ database, grantSeconds: 0, now })
  return {
    usage,
    refusals,
    async flush() {
      await usage.flush()
      await refusals.flush()
    },
    prune: grants.prune,
  }
}

/** Remembers a request that was refused to a client, for the operator who created it. */
export function noteRefusal({ refusals }: PageRecords, now: () => number) {
  return ({ id, route, client, error, detail }: LoggedRequest): void => {
    if (client === undefined || error === undefined) return
    refusals.note({
      clientId: client,
      occurredAt: now(),
      route,
      error,
      reason: detail,
      requestId: id,
    })
  }
}

/** Puts the pages in front of the engine. */
export function usePages(app: Provider, parts: PageParts): void {
  const sessions = sessionsOf(parts)
  const gate = gateOf(app, { ...parts, sessions })
  app.use(gate.followLogout())
  app.use(gate.routes().routes())
  const listPages = makeListPages(makeCursors(parts.secretRoot.cursorKeys))
  app.use(accountOf(parts, { gate, sessions, listPages }).routes())
  for (const router of adminRoutes(adminOf(parts, { gate, listPages }))) app.use(router.routes())
}

function sessionsOf({ config, secretRoot, database, state, now }: PageParts): Sessions {
  return makeSessions({
    state: state.adapterFor('AreaSession'),
    findPerson: makePersonStore(database).findPerson,
    formKey: secretRoot.formKey,
    sessionSeconds: config.service.lifetimes.pageSessionSeconds,
    secure: config.baseUrl.startsWith('https:'),
    now,
  })
}

function gateOf(app: Provider, parts: PageParts & { sessions: Sessions }): SignedInPages {
  const { config, secretRoot, sessions, now } = parts
  let listener: RequestListener | undefined
  const label = 'a sign-in to the pages'
  return makeSignedInPages({
    baseUrl: config.baseUrl,
    ownFetch: makeOwnFetch(() => {
      listener ??= app.callback()
      return listener
    }),
    sessions,
    seal: (plain) => secretRoot.seal(plain, label),
    open: (sealed) => secretRoot.open(sealed, label),
    now,
  })
}

function accountOf(
  { database, now }: PageParts,
  { gate, sessions, listPages }: { gate: SignedInPages; sessions: Sessions; listPages: ListPages },
) {
  const accounts = makePersonStore(database)
  return accountRoutes({
    gate,
    lists: makeGrantLists(database, now),
    listHeldSites: (personId: string) => listHeldSites(database, personId),
    listPages,
    async removeApp(line, actor) {
      const ended = await removeApp(database, line, actor)
      return ended.length > 0
    },
    signOutEverywhere: async (ctx, { person }) => {
      await accounts.signOutEverywhere(person.id, now())
      await sessions.end(ctx)
    },
    now,
  })
}

function adminOf(
  parts: PageParts,
  { gate, listPages }: { gate: SignedInPages; listPages: ListPages },
): AdminDependencies {
  const { config, secretRoot, database, state, records, now } = parts
  const { kysely } = database
  const { hosts, openRegistration } = config.service.metadataDocuments
  const label = 'a new client secret'
  return {
    gate,
    listPages,
    now,
    discoveryHref: config.baseUrl + paths.openidConfiguration,
    loopbackHosts: config.service.loopbackHosts,
    applications: makeApplicationStore(database),
    secrets: makeApplicationSecrets(database),
    newSecrets: makeNewSecrets({
      records: state.adapterFor('NewSecret'),
      seal: (plain) => secretRoot.seal(plain, label),
      open: (sealed) => secretRoot.open(sealed, label),
    }),
    connections: makeGrantLists(database, now),
    documents: openRegistration || hosts.length > 0 ? makeDocumentReviews(database) : undefined,
    findSite: async (slug, personId) => await findAdminSite(database, slug, personId),
    listSites: async (personId) => await listOperatedSites(database, personId),
    listChanges: async (siteId, request) => await listChanges(database, siteId, request),
    findApplication: async (siteId, id) => await findApplication(kysely, siteId, id),
    listApplications: async (siteId, request) => await listApplications(kysely, siteId, request),
    listRefusals: async (clientId) => await records.refusals.list(clientId),
    async switchMcpConnections(siteId, on, actor) {
      await kysely.transaction().execute(async (trx) => {
        const changed = await switchMcpConnections(trx, siteId, on ? actor.now : undefined)
        if (!changed) return
        await recordAuditEvent(trx, actor, {
          action: on ? 'feature.on' : 'feature.off',
          subject: { kind: 'site', id: siteId },
          siteId,
          before: { mcpConnections: !on },
          after: { mcpConnections: on },
        })
      })
    },
  }
}
