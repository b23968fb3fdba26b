/**
 * The clients that the operators of a site make and change. How a client is found when it asks is
 * in clients.
 */

import { randomBytes } from 'node:crypto'

import type { Transaction } from 'kysely'

import { endGrants } from '../../oauth/grants/end-grants.ts'
import type { ChangeAction } from '../../platform/audit/audit-actions.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import type { ApplicationKind } from '../../platform/store/oauth-tables.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { CheckedApplication } from './application-form.ts'
import { type Application, findApplication } from './application-lists.ts'
import { insertSecret, subjectOf } from './application-secrets.ts'
import { makeChoiceStore } from './choice-store.ts'

export const APPLICATIONS_PER_SITE_MAX = 200

/** What an operator entered, or what one press made of a row of the assistants' table. */
export interface NewApplication extends CheckedApplication {
  /** The id of the assistant for which it is made. */
  readonly assistant?: string
}

export type ApplicationStore = ReturnType<typeof makeApplicationStore>

/**
 * How operators change the OAuth applications of their site. Each change is one transaction with its
 * line in the audit trail, and with the end of every grant that it makes impossible.
 */
export function makeApplicationStore({ kysely }: Database) {
  const changing = async <Result>(work: (trx: Transaction<Schema>) => Promise<Result>) =>
    await kysely.transaction().execute(work)

  return {
    ...makeChoiceStore({ kysely }),

    /**
     * @returns the client_id and, of a confidential client, its secret; `full` when the site has as
     *   many as it may, `taken` when it has one for the assistant already
     */
    create: async (siteId: string, entry: NewApplication, actor: Actor) =>
      await changing(async (trx) => await create(trx, { siteId, entry, actor })),

    /** @returns the grants that ended because they held scopes which were taken away */
    update: async (app: Application, entry: CheckedApplication, actor: Actor) =>
      await changing(async (trx) => await update(trx, { app, entry, actor })),

    setEnabled: async (app: Application, enabled: boolean, actor: Actor) =>
      await changing(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('oauth_application')
          .set({ disabled_at: enabled ? null : actor.now })
          .where('client_id', '=', app.clientId)
          .where('deleted_at', 'is', null)
          .where('disabled_at', enabled ? 'is not' : 'is', null)
          .executeTakeFirstOrThrow()
        // Sent twice, it changed something once.
        if (numUpdatedRows === 0n) return
        const change = changesOf[app.kind][enabled ? 'enable' : 'disable']
        await recordAuditEvent(trx, actor, { ...subjectOf(app), ...change })
      }),

    /** @returns the grants that ended */
    remove: async (app: Application, actor: Actor) =>
      await changing(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('oauth_application')
          .set({ deleted_at: actor.now })
          .where('client_id', '=', app.clientId)
          .where('deleted_at', 'is', null)
          .executeTakeFirstOrThrow()
        if (numUpdatedRows === 0n) return []
        // One that only asks about tokens has none.
        const why = { reason: 'the application was deleted', nowMs: actor.now } as const
        const ended = await endGrants(trx, { clientId: app.clientId }, why)
        await recordAuditEvent(trx, actor, {
          ...subjectOf(app),
          ...changesOf[app.kind].delete,
          before: factsOf(app),
          after: { grantsEnded: ended.length },
        })
        return ended
      }),

    /** Ends the grants of one person to the application, or of everybody. */
    disconnect: async (app: Application, personId: string | undefined, actor: Actor) =>
      await changing(async (trx) => {
        const whose = personId === undefined ? {} : { personId }
        const why = { reason: 'an operator ended it', nowMs: actor.now } as const
        const ended = await endGrants(trx, { clientId: app.clientId, ...whose }, why)
        if (ended.length === 0) return ended
        await recordAuditEvent(trx, actor, {
          ...subjectOf(app),
          action: personId === undefined ? 'grants.end_all' : 'grant.end',
          before: { ...whose, grants: ended.length },
          after: { grants: 0 },
        })
        return ended
      }),
  }
}

/** What the audit trail calls a change of each kind. */
const changesOf = {
  site: {
    enable: { action: 'application.enable' },
    disable: { action: 'application.disable' },
    delete: { action: 'application.delete' },
  },
  resource_server: {
    enable: { action: 'resource_server.enable' },
    disable: { action: 'resource_server.disable' },
    delete: { action: 'resource_server.delete' },
  },
} as const satisfies Record<ApplicationKind, Record<string, { readonly action: ChangeAction }>>

async function create(
  trx: Transaction<Schema>,
  { siteId, entry, actor }: { siteId: string; entry: NewApplication; actor: Actor },
) {
  const { assistant = null } = entry
  const { existing } = await trx
    .selectFrom('oauth_application')
    .select((eb) => eb.fn.countAll<number>().as('existing'))
    .where('site_id', '=', siteId)
    .where('kind', '=', 'site')
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (Number(existing) >= APPLICATIONS_PER_SITE_MAX) return 'full'

  const clientId = `app_${randomBytes(12).toString('hex')}`
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('oauth_application')
    .values({
      client_id: clientId,
      kind: 'site',
      site_id: siteId,
      name: entry.name,
      auth_method: entry.authMethod,
      application_type: entry.applicationType,
      assistant,
      created_by: actor.personId,
      created_at: actor.now,
      disabled_at: null,
      deleted_at: null,
    })
    // The index that admits one for each assistant decides between two presses at the same moment.
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) return 'taken'
  await replaceLists(trx, clientId, entry)
  const secret =
    entry.authMethod === 'none' ? undefined : await insertSecret(trx, clientId, actor.now)
  await recordAuditEvent(trx, actor, {
    ...subjectOf({ clientId, siteId, kind: 'site' }),
    action: 'application.create',
    after: { ...factsOf(entry), ...(assistant !== null && { assistant }) },
  })
  return { clientId, secret }
}

async function update(
  trx: Transaction<Schema>,
  { app, entry, actor }: { app: Application; entry: CheckedApplication; actor: Actor },
) {
  // The update locks the row, so that what is compared below cannot change any more.
  await trx
    .updateTable('oauth_application')
    .set({ name: entry.name, application_type: entry.applicationType })
    .where('client_id', '=', app.clientId)
    .execute()
  const before = (await findApplication(trx, app.siteId, app.clientId)) ?? app
  await replaceLists(trx, app.clientId, entry)
  const withScopes = before.scopes.filter((scope) => !entry.scopes.includes(scope))
  const reason = 'a scope of it was taken from the application'
  const ended =
    withScopes.length > 0
      ? await endGrants(trx, { clientId: app.clientId, withScopes }, { reason, nowMs: actor.now })
      : []
  await recordAuditEvent(trx, actor, {
    ...subjectOf(app),
    action: 'application.update',
    before: { ...factsOf(before), name: app.name },
    after: { ...factsOf(entry), ...(ended.length > 0 && { grantsEnded: ended.length }) },
  })
  return ended
}

async function replaceLists(
  trx: Transaction<Schema>,
  clientId: string,
  { redirectUris, postLogoutRedirectUris, scopes }: CheckedApplication,
): Promise<void> {
  for (const table of [
    'oauth_application_redirect_uri',
    'oauth_application_post_logout_uri',
    'oauth_application_scope',
  ] as const) {
    await trx.deleteFrom(table).where('client_id', '=', clientId).execute()
  }
  await trx
    .insertInto('oauth_application_redirect_uri')
    .values(redirectUris.map((uri, position) => ({ client_id: clientId, uri, position })))
    .execute()
  if (postLogoutRedirectUris.length > 0) {
    await trx
      .insertInto('oauth_application_post_logout_uri')
      .values(postLogoutRedirectUris.map((uri) => ({ client_id: clientId, uri })))
      .execute()
  }
  if (scopes.length === 0) return
  await trx
    .insertInto('oauth_application_scope')
    .values(scopes.map((scope) => ({ client_id: clientId, scope })))
    .execute()
}

function factsOf(application: CheckedApplication | Application) {
  const { name, authMethod, redirectUris, postLogoutRedirectUris, scopes } = application
  return { name, authMethod, redirectUris, postLogoutRedirectUris, scopes }
}
