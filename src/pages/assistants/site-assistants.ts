import type { Assistant } from '../../config/assistant-table.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/feature.ts'
import type { Database } from '../../platform/store/database.ts'
import { type PageRequest, readPage } from '../../platform/store/keyset.ts'
import { canReturnTo } from './callbacks.ts'

/** What everybody may know of a site who wants to connect an assistant to it. */
export interface ConnectableSite {
  readonly id: string
  readonly slug: string
  readonly name: string
  /** The live applications that were made for an assistant; none while MCP connections is off. */
  readonly applications: readonly ConnectableApplication[]
}

/** An application that was made for an assistant. */
export interface ConnectableApplication {
  readonly clientId: string
  /** The id of the assistant in the table. */
  readonly assistant: string
  readonly applicationType: 'web' | 'native'
  readonly scopes: readonly string[]
  readonly redirectUris: readonly string[]
}

/** The site of a slug with the assistants that it is ready for, in four queries; or nothing. */
export async function findConnectableSite(
  { kysely }: Database,
  slug: string,
): Promise<ConnectableSite | undefined> {
  const site = await kysely
    .selectFrom('site')
    .leftJoin('site_feature as f', (join) =>
      join.onRef('f.site_id', '=', 'site.id').on('f.feature', '=', MCP_CONNECTIONS),
    )
    .select(['site.id', 'site.slug', 'site.name', 'f.enabled_at as onSince'])
    .where('site.slug', '=', slug)
    .executeTakeFirst()
  if (!site) return undefined
  const { id, name, onSince } = site
  const applications = onSince === null ? [] : await readApplications(kysely, id)
  return { id, slug, name, applications }
}

async function readApplications(
  kysely: Database['kysely'],
  siteId: string,
): Promise<ConnectableApplication[]> {
  const rows = await kysely
    .selectFrom('oauth_application')
    .select(['client_id', 'assistant', 'application_type'])
    .where('site_id', '=', siteId)
    .where('kind', '=', 'site')
    .where('assistant', 'is not', null)
    .where('disabled_at', 'is', null)
    .where('deleted_at', 'is', null)
    .execute()
  if (rows.length === 0) return []
  const clientIds = rows.map((row) => row.client_id)
  const scopes = await kysely
    .selectFrom('oauth_application_scope')
    .select(['client_id', 'scope'])
    .where('client_id', 'in', clientIds)
    .orderBy('scope')
    .execute()
  const uris = await kysely
    .selectFrom('oauth_application_redirect_uri')
    .select(['client_id', 'uri'])
    .where('client_id', 'in', clientIds)
    .orderBy('position')
    .execute()
  return rows.flatMap(({ client_id: clientId, assistant, application_type: applicationType }) => {
    if (assistant === null) return []
    const isOfIt = (row: { client_id: string }) => row.client_id === clientId
    return {
      clientId,
      assistant,
      applicationType,
      scopes: scopes.filter(isOfIt).map(({ scope }) => scope),
      redirectUris: uris.filter(isOfIt).map(({ uri }) => uri),
    }
  })
}

/**
 * The assistants of the table that members of a site can connect, each with its application. What an
 * operator took from an application afterwards, its callbacks or all its scopes, steps cannot give back.
 */
export function assistantsReadyAt(
  { applications }: Pick<ConnectableSite, 'applications'>,
  assistants: readonly Assistant[],
) {
  return assistants.flatMap((assistant) => {
    const application = applications.find((each) => each.assistant === assistant.id)
    const isReady =
      application && application.scopes.length > 0 && canReturnTo(assistant, application)
    return isReady ? [{ assistant, application }] : []
  })
}

/** A part of all sites, in the order of their slugs, which have an index. */
export async function listConnectableSites({ kysely }: Database, request: PageRequest) {
  return await readPage(
    kysely.selectFrom('site').select(['site.id', 'site.slug', 'site.name']),
    {
      by: 'site.slug',
      id: 'site.id',
      direction: 'asc',
      placeOf: (row) => [row.slug, row.id],
    },
    request,
  )
}
