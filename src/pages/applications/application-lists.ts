import type { Kysely, Selectable } from 'kysely'

import { type PageRequest, readPage } from '../../platform/store/keyset.ts'
import type { ApplicationKind } from '../../platform/store/oauth-tables.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { containsText } from '../../platform/store/search.ts'
import { choicesOf } from './protocol-choices.ts'

/** An application or resource server as shown to operators of its site. */
export type Application = Awaited<ReturnType<typeof readApplications>>[number]

function applicationsOf(kysely: Kysely<Schema>, siteId: string, kind: ApplicationKind) {
  return kysely
    .selectFrom('oauth_application as app')
    .where('app.site_id', '=', siteId)
    .where('app.kind', '=', kind)
    .where('app.deleted_at', 'is', null)
}

/** Finds an application of a site. Ignores other kinds and deleted applications. */
export async function findApplication(
  kysely: Kysely<Schema>,
  siteId: string,
  clientId: string,
  kind: ApplicationKind = 'site',
) {
  return (await readApplications(kysely, siteId, kind, clientId))[0]
}

/** Lists a site's applications for assistants, including disabled applications. */
export async function listAssistantApplications(kysely: Kysely<Schema>, siteId: string) {
  return await readApplications(kysely, siteId, 'site')
}

/** @param clientId the application to read; undefined for all applications that are for an assistant */
async function readApplications(
  kysely: Kysely<Schema>,
  siteId: string,
  kind: ApplicationKind,
  clientId?: string,
) {
  const all = applicationsOf(kysely, siteId, kind)
  const rows = await (clientId === undefined
    ? all.where('app.assistant', 'is not', null)
    : all.where('app.client_id', '=', clientId)
  )
    .leftJoin('person', 'person.id', 'app.created_by')
    .selectAll('app')
    .select('person.name as creator')
    .execute()
  const secrets = await kysely
    .selectFrom('client_secret')
    .select(['client_id', 'id', 'hint', 'created_at as createdAt', 'expires_at as expiresAt'])
    // Include an empty id, because PostgreSQL rejects an empty list.
    .where('client_id', 'in', ['', ...rows.map((row) => row.client_id)])
    .orderBy('created_at')
    .execute()
  return rows.map((row) => ({
    clientId: row.client_id,
    siteId,
    kind,
    name: row.name,
    authMethod: row.auth_method,
    applicationType: row.application_type,
    /** The id of the assistant that the application was created for. */
    assistant: row.assistant ?? undefined,
    /** Whether the application acts for an owner. */
    isOperator: row.operator_at !== null,
    isEndless: row.endless_at !== null,
    further: choicesOf(row),
    createdAt: row.created_at,
    createdBy: row.creator ?? undefined,
    disabledAt: row.disabled_at ?? undefined,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    postLogoutRedirectUris: (JSON.parse(row.post_logout_redirect_uris) as string[]).toSorted(),
    scopes: (JSON.parse(row.scopes) as string[]).toSorted(),
    secrets: secrets.filter(({ client_id }) => client_id === row.client_id),
  }))
}

/** Lists one page of a site's applications of one kind whose names contain the search text, newest first. */
export async function listApplications(
  kysely: Kysely<Schema>,
  siteId: string,
  request: PageRequest,
  {
    kind = 'site',
    search = '',
  }: { readonly kind?: ApplicationKind; readonly search?: string } = {},
) {
  const applications = applicationsOf(kysely, siteId, kind)
    .where(containsText('app.name', search))
    .selectAll()
  const order = { by: 'app.created_at', id: 'app.client_id', direction: 'desc' } as const
  const placeOf = (row: Selectable<Schema['oauth_application']>) =>
    [row.created_at, row.client_id] as const
  const page = await readPage(applications, { ...order, placeOf }, request)
  const rows = page.rows.map((row) => ({
    clientId: row.client_id,
    name: row.name,
    authMethod: row.auth_method,
    assistant: row.assistant,
    isOperator: row.operator_at !== null,
    disabled: row.disabled_at !== null,
  }))
  return { ...page, rows }
}

/** Counts the stored refusals of each of these clients since a given time. */
export async function countRefusals(
  kysely: Kysely<Schema>,
  clientIds: readonly string[],
  sinceMs: number,
) {
  const rows = await kysely
    .selectFrom('client_refusal')
    .select((eb) => ['client_id', eb.fn.countAll<number>().as('refusals')])
    .where('client_id', 'in', clientIds)
    .where('occurred_at', '>', sinceMs)
    .groupBy('client_id')
    .execute()
  return new Map(rows.map(({ client_id, refusals }) => [client_id, Number(refusals)]))
}
