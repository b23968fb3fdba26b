/** Creates and changes applications for a site's operators. For OAuth requests, `oauth/clients` reads them. */

import { randomBytes } from 'node:crypto'

import type { Transaction } from 'kysely'

import { endGrants } from '../../oauth/grants/end-grants.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import { type Database, isDuplicate } from '../../platform/store/database.ts'
import type { ApplicationKind } from '../../platform/store/oauth-tables.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { CheckedApplication } from './application-form.ts'
import { type Application, findApplication } from './application-lists.ts'
import { applicationSubject, insertSecret } from './application-secrets.ts'
import { authMethodWith, columnsOf, type ProtocolChoices } from './protocol-choices.ts'

export interface NewApplication extends CheckedApplication {
  readonly kind?: ApplicationKind
  /** The id of the assistant that the application is for. */
  readonly assistant?: string
}

/** Returns the input for a resource server, which only checks tokens of its site and has no redirect URI. */
export function newResourceServer(name: string): NewApplication {
  return {
    kind: 'resource_server',
    name,
    redirectUris: [],
    postLogoutRedirectUris: [],
    authMethod: 'client_secret_post',
    applicationType: 'web',
    scopes: [],
  }
}

/** For each kind, the prefix of its client_ids, the maximum per site and its audit actions. */
export const applicationKinds = {
  site: {
    prefix: 'app_',
    perSiteMax: 200,
    create: { action: 'application.create' },
    enable: { action: 'application.enable' },
    disable: { action: 'application.disable' },
    delete: { action: 'application.delete' },
  },
  resource_server: {
    prefix: 'rs_',
    perSiteMax: 50,
    create: { action: 'resource_server.create' },
    enable: { action: 'resource_server.enable' },
    disable: { action: 'resource_server.disable' },
    delete: { action: 'resource_server.delete' },
  },
} as const

/**
 * Creates the functions that change a site's applications. Each change is one transaction with its audit event.
 * The transaction also ends the grants that the change no longer allows.
 */
export function makeApplicationStore({ kysely }: Database) {
  const changing =
    <Values extends unknown[], Result>(
      work: (trx: Transaction<Schema>, ...values: Values) => Promise<Result>,
    ) =>
    async (...values: Values) =>
      await kysely.transaction().execute(async (trx) => await work(trx, ...values))

  return {
    /**
     * Creates an application.
     *
     * @returns the client_id, and the secret of a confidential client; `full` if the site already has the maximum
     * number; `taken` if the site already has an application with this name or for this assistant
     */
    create: changing(create),

    /** Updates an application. @returns the grants that ended; `taken` if another application has the name */
    async update(app: Application, entry: CheckedApplication, actor: Actor) {
      try {
        return await changing(update)(app, entry, actor)
      } catch (error) {
        if (isDuplicate(error)) return 'taken'
        throw error
      }
    },

    /** Stores the operator's choice of optional protocols. */
    choose: changing(choose),

    setEnabled: changing(
      async (trx, app: Application, enabled: boolean, actor: Actor): Promise<void> => {
        const { numUpdatedRows } = await trx
          .updateTable('oauth_application')
          .set({ disabled_at: enabled ? null : actor.now })
          .where('client_id', '=', app.clientId)
          .where('deleted_at', 'is', null)
          .where('disabled_at', enabled ? 'is not' : 'is', null)
          .executeTakeFirstOrThrow()
        // Nothing has changed, for example because the form was submitted twice.
        if (numUpdatedRows === 0n) return
        const change = applicationKinds[app.kind][enabled ? 'enable' : 'disable']
        await recordAuditEvent(trx, actor, { ...applicationSubject(app), ...change })
      },
    ),

    /** Deletes an application and ends its grants. @returns the grants that ended */
    remove: changing(async (trx, app: Application, actor: Actor) => {
      const { numUpdatedRows } = await trx
        .updateTable('oauth_application')
        .set({ deleted_at: actor.now })
        .where('client_id', '=', app.clientId)
        .where('deleted_at', 'is', null)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) return []
      const why = { reason: 'the application was deleted', nowMs: actor.now } as const
      const ended = await endGrants(trx, { clientId: app.clientId }, why)
      await recordAuditEvent(trx, actor, {
        ...applicationSubject(app),
        ...applicationKinds[app.kind].delete,
        before: auditValuesOf(app),
        after: { grantsEnded: ended.length },
      })
      return ended
    }),

    /** Ends the grants of one person, or of all people if `personId` is undefined. @returns the grants that ended */
    disconnect: changing(
      async (trx, app: Application, personId: string | undefined, actor: Actor) => {
        const whose = personId === undefined ? {} : { personId }
        const why = { reason: 'an operator ended it', nowMs: actor.now } as const
        const ended = await endGrants(trx, { clientId: app.clientId, ...whose }, why)
        if (ended.length === 0) return ended
        await recordAuditEvent(trx, actor, {
          ...applicationSubject(app),
          action: personId === undefined ? 'grants.end_all' : 'grant.end',
          before: { ...whose, grants: ended.length },
          after: { grants: 0 },
        })
        return ended
      },
    ),
  }
}

async function create(
  trx: Transaction<Schema>,
  siteId: string,
  entry: NewApplication,
  actor: Actor,
) {
  const { kind = 'site', assistant = null } = entry
  const { prefix, perSiteMax, create: change } = applicationKinds[kind]
  const { existing } = await trx
    .selectFrom('oauth_application')
    .select((eb) => eb.fn.countAll<number>().as('existing'))
    .where('site_id', '=', siteId)
    .where('kind', '=', kind)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (Number(existing) >= perSiteMax) return 'full'

  const clientId = prefix + randomBytes(12).toString('hex')
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('oauth_application')
    .values({
      client_id: clientId,
      kind,
      site_id: siteId,
      name: entry.name,
      auth_method: entry.authMethod,
      application_type: entry.applicationType,
      assistant,
      operator_at: entry.isOperator ? actor.now : null,
      endless_at: entry.isEndless ? actor.now : null,
      ...listsOf(entry),
      created_by: actor.personId,
      created_at: actor.now,
      disabled_at: null,
      deleted_at: null,
    })
    // A unique index lets only one of several concurrent requests insert the same assistant or name.
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) return 'taken'
  const secret =
    entry.authMethod === 'none' ? undefined : await insertSecret(trx, clientId, actor.now)
  await recordAuditEvent(trx, actor, {
    ...applicationSubject({ clientId, siteId, kind }),
    ...change,
    after: {
      ...(kind === 'site' ? auditValuesOf(entry) : { name: entry.name }),
      ...(assistant !== null && { assistant }),
    },
  })
  return { clientId, secret }
}

async function update(
  trx: Transaction<Schema>,
  app: Application,
  entry: CheckedApplication,
  actor: Actor,
) {
  const row = trx.updateTable('oauth_application').where('client_id', '=', app.clientId)
  // This update locks the row, so the values read next cannot change.
  await row
    .set({
      name: entry.name,
      application_type: entry.applicationType,
      endless_at: entry.isEndless ? actor.now : null,
    })
    .execute()
  const before = (await findApplication(trx, app.siteId, app.clientId)) ?? app
  await row.set(listsOf(entry)).execute()
  const withScopes = before.scopes.filter((scope) => !entry.scopes.includes(scope))
  const reason = 'a scope was removed from the application'
  const ended =
    withScopes.length > 0
      ? await endGrants(trx, { clientId: app.clientId, withScopes }, { reason, nowMs: actor.now })
      : []
  await recordAuditEvent(trx, actor, {
    ...applicationSubject(app),
    action: 'application.update',
    reportedAs: ended.length > 0 ? 'grants.end_all' : undefined,
    before: { ...auditValuesOf(before), name: app.name },
    after: { ...auditValuesOf(entry), ...(ended.length > 0 && { grantsEnded: ended.length }) },
  })
  return ended
}

async function choose(
  trx: Transaction<Schema>,
  app: Application,
  choices: ProtocolChoices,
  actor: Actor,
): Promise<void> {
  const authMethod = authMethodWith(choices, app.authMethod)
  await trx
    .updateTable('oauth_application')
    .set({ ...columnsOf(choices, actor.now), auth_method: authMethod })
    .where('client_id', '=', app.clientId)
    .execute()
  await recordAuditEvent(trx, actor, {
    ...applicationSubject(app),
    action: 'application.update',
    before: choiceFactsOf(app.authMethod, app.further),
    after: choiceFactsOf(authMethod, choices),
  })
}

/** Returns the choices as recorded in the audit trail, without inline keys. */
function choiceFactsOf(authMethod: string, choices: ProtocolChoices) {
  const { jwks, jwksUri, logoutUri = '', ...demands } = choices
  return { authMethod, keys: jwksUri ?? (jwks === undefined ? '' : 'a set'), logoutUri, ...demands }
}

function listsOf({ redirectUris, postLogoutRedirectUris, scopes }: CheckedApplication) {
  return {
    redirect_uris: JSON.stringify(redirectUris),
    post_logout_redirect_uris: JSON.stringify(postLogoutRedirectUris),
    scopes: JSON.stringify(scopes),
  }
}

function auditValuesOf(application: CheckedApplication | Application) {
  const { name, authMethod, redirectUris, postLogoutRedirectUris, scopes } = application
  const { isOperator, isEndless } = application
  const ofOperator = isOperator && { actsForOwner: true, endless: isEndless === true }
  return { name, authMethod, redirectUris, postLogoutRedirectUris, scopes, ...ofOperator }
}
