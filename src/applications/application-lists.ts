import type { Kysely } from 'kysely'

import { type Page, type PageRequest, readPage } from '../store/keyset.ts'
import type { ApplicationType, ClientAuthMethod } from '../store/oauth-tables.ts'
import type { Schema } from '../store/schema.ts'

/** An OAuth application as the operators of its site see it. */
export interface Application {
  readonly clientId: string
  readonly siteId: string
  readonly name: string
  readonly authMethod: ClientAuthMethod
  readonly applicationType: ApplicationType
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
  readonly secrets: readonly SecretHint[]
  readonly createdAt: number
  readonly createdBy: string | undefined
  readonly disabledAt: number | undefined
}

/** What is known of a secret after it was shown: by its last characters people tell two apart. */
export interface SecretHint {
  readonly id: string
  readonly hint: string
  readonly createdAt: number
  readonly expiresAt: number | undefined
}

export interface ApplicationLine {
  readonly clientId: string
  readonly name: string
  readonly authMethod: ClientAuthMethod
  readonly disabled: boolean
}

/** An application of this very site; that of another site is as good as none. */
export async function findApplication(
  kysely: Kysely<Schema>,
  siteId: string,
  clientId: string,
): Promise<Application | undefined> {
  const row = await kysely
    .selectFrom('oauth_application as app')
    .leftJoin('person', 'person.id', 'app.created_by')
    .selectAll('app')
    .select('person.name as creator')
    .where('app.client_id', '=', clientId)
    .where('app.site_id', '=', siteId)
    .where('app.kind', '=', 'site')
    .where('app.deleted_at', 'is', null)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    clientId: row.client_id,
    siteId,
    name: row.name,
    authMethod: row.auth_method,
    applicationType: row.application_type,
    createdAt: row.created_at,
    createdBy: row.creator ?? undefined,
    disabledAt: row.disabled_at ?? undefined,
    ...(await readLists(kysely, clientId)),
  }
}

async function readLists(kysely: Kysely<Schema>, clientId: string) {
  const uris = await kysely
    .selectFrom('oauth_application_redirect_uri')
    .select('uri')
    .where('client_id', '=', clientId)
    .orderBy('position')
    .execute()
  const scopes = await kysely
    .selectFrom('oauth_application_scope')
    .select('scope')
    .where('client_id', '=', clientId)
    .orderBy('scope')
    .execute()
  const secrets = await kysely
    .selectFrom('client_secret')
    .select(['id', 'hint', 'created_at', 'expires_at'])
    .where('client_id', '=', clientId)
    .orderBy('created_at')
    .execute()
  return {
    redirectUris: uris.map(({ uri }) => uri),
    scopes: scopes.map(({ scope }) => scope),
    secrets: secrets.map(({ id, hint, created_at, expires_at }) => ({
      id,
      hint,
      createdAt: created_at,
      expiresAt: expires_at ?? undefined,
    })),
  }
}

/** The applications of a site, the newest first. */
export async function listApplications(
  kysely: Kysely<Schema>,
  siteId: string,
  request: PageRequest,
): Promise<Page<ApplicationLine>> {
  const applications = kysely
    .selectFrom('oauth_application')
    .selectAll()
    .where('site_id', '=', siteId)
    .where('kind', '=', 'site')
    .where('deleted_at', 'is', null)
  const page = await readPage(
    applications,
    {
      by: 'created_at',
      id: 'client_id',
      direction: 'desc',
      placeOf: (row) => [row.created_at, row.client_id],
    },
    request,
  )
  const rows = page.rows.map((row) => ({
    clientId: row.client_id,
    name: row.name,
    authMethod: row.auth_method,
    disabled: row.disabled_at !== null,
  }))
  return { ...page, rows }
}
