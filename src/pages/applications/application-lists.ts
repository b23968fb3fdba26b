import type { Kysely, Selectable } from 'kysely'

import { type PageRequest, readPage } from '../../platform/store/keyset.ts'
import type { ApplicationKind } from '../../platform/store/oauth-tables.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { containsText } from '../../platform/store/search.ts'
import { choicesOf } from './protocol-choices.ts'

/** An application or resource server as shown to operators of its site. */
export type Application = NonNullable<Awaited<ReturnType<typeof findApplication>>>

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
  const row = await applicationsOf(kysely, siteId, kind)
    .where('app.client_id', '=', clientId)
    .leftJoin('person', 'person.id', 'app.created_by')
    .selectAll('app')
    .select('person.name as creator')
    .executeTakeFirst()
  if (!row) return undefined
  const secrets = await kysely
    .selectFrom('client_secret')
    .select(['id', 'hint', 'created_at as createdAt', 'expires_at as expiresAt'])
    .where('client_id', '=', clientId)
    .orderBy('created_at')
    .execute()
  return {
    clientId,
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
    secrets,
  }
}

/** Lists a site's applications for assistants, even disabled ones. Reads no secrets, because a public page uses it. */
export async function listAssistantApplications(kysely: Kysely<Schema>, siteId: string) {
  const rows = await applicationsOf(kysely, siteId, 'site')
    .where('app.assistant', 'is not', null)
    .select(['client_id', 'name', 'assistant', 'application_type', 'disabled_at'])
    .select(['redirect_uris', 'scopes'])
    .execute()
  return rows.map((row) => ({
    clientId: row.client_id,
    name: row.name,
    assistant: row.assistant,
    applicationType: row.application_type,
    isDisabled: row.disabled_at !== null,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    scopes: (JSON.parse(row.scopes) as string[]).toSorted(),
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

/** Counts the stored refusals for each of these clients since a given time. */
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
