import { type Selectable, sql } from 'kysely'

import type { Integration } from '../../config/config.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/site-admin.ts'
import { compiled, type Valued } from '../../platform/store/compiled.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type Client, type ClientState, canBeClientId } from './client.ts'
import { lacksProtocol, type OptionalProtocols } from './optional-protocols.ts'

interface ClientStoreDependencies {
  readonly database: Database
  readonly integrations: readonly Integration[]
  readonly furtherPlans: OptionalProtocols
  readonly now: () => number
}

/**
 * Creates the function that finds an application, a resource server or a platform. The result includes its secret
 * digests, URIs and scopes. A deleted application has the state `deleted`.
 */
export function makeClientStore(dependencies: ClientStoreDependencies) {
  const { database, integrations, furtherPlans, now } = dependencies
  const vendors = new Map(integrations.map((row) => [row.client_id, row]))
  const readApplication = applicationReader(database, furtherPlans)
  const readLists = listsReader(database)
  return async (clientId: string): Promise<Client | undefined> => {
    if (!canBeClientId(clientId)) return undefined
    const vendor = vendors.get(clientId)
    const [found, lists] = await Promise.all([
      vendor ? readIntegration(database, vendor) : readApplication(clientId),
      readLists(clientId, now()),
    ])
    return found && { ...lists, ...found }
  }
}

function applicationReader({ kysely }: Database, plans: OptionalProtocols) {
  const query = compiled(kysely, (value: Valued<{ clientId: string }>) =>
    kysely
      .selectFrom('oauth_application as app')
      .leftJoin('site', 'site.id', 'app.site_id')
      .leftJoin('site_feature', (join) =>
        join
          .onRef('site_feature.site_id', '=', 'app.site_id')
          .on('site_feature.feature', '=', MCP_CONNECTIONS),
      )
      .selectAll('app')
      .select(['site.name as site_name', 'site_feature.enabled_at as feature_enabled_at'])
      .where('app.client_id', '=', value('clientId')),
  )
  return async (clientId: string) => {
    const [row] = (await query({ clientId })).rows
    if (!row) return undefined
    const chosen = choiceOf(row)
    const featureOff = row.kind === 'site' && row.feature_enabled_at === null
    const isOff = row.disabled_at !== null || featureOff || lacksProtocol(chosen, plans)
    const live = isOff ? 'off' : 'active'
    const state: ClientState = row.deleted_at === null ? live : 'deleted'
    return {
      clientId: row.client_id,
      origin: row.operator_at === null ? row.kind : ('operator' as const),
      name: row.name,
      siteId: row.site_id ?? undefined,
      siteName: row.site_name ?? undefined,
      applicationType: row.application_type,
      ...chosen,
      state,
    }
  }
}

function choiceOf(row: Selectable<Schema['oauth_application']>) {
  const { jwks, jwks_uri: jwksUri, backchannel_logout_uri: uri } = row
  const keys = jwks === null ? jwksUri !== null && { jwksUri } : { jwks: JSON.parse(jwks) }
  const sessionRequired = row.backchannel_logout_session_required_at !== null
  return {
    authMethod: row.auth_method,
    keys: keys || undefined,
    pushesRequests: row.pushed_requests_required_at !== null,
    bindsTokens: row.bound_tokens_required_at !== null,
    logout: uri === null ? undefined : { uri, sessionRequired },
  }
}

/** Creates the query for a client's redirect and post-logout URIs, scopes, and digests of unexpired secrets. */
function listsReader({ kysely }: Database) {
  const ask = compiled(kysely, (value: Valued<{ clientId: string; nowMs: number }>) => {
    const query = sql<{ list: string; value: string; position: number; ends_at: number | null }>`
      select 'secret' as list, digest as value, 0 as position, expires_at as ends_at
      from client_secret
      where client_id = ${value('clientId')}
        and (expires_at is null or expires_at > ${value('nowMs')})
      union all
      select 'redirect', uri, position, null from oauth_application_redirect_uri
      where client_id = ${value('clientId')}
      union all
      select 'logout', uri, 0, null from oauth_application_post_logout_uri
      where client_id = ${value('clientId')}
      union all
      select 'scope', scope, 0, null from oauth_application_scope
      where client_id = ${value('clientId')}`
    return { compile: () => query.compile(kysely) }
  })
  return async (clientId: string, nowMs: number) => {
    const { rows } = await ask({ clientId, nowMs })
    const valuesOf = (list: string) =>
      rows
        .filter((row) => row.list === list)
        .sort((a, b) => a.position - b.position)
        .map(({ value }) => value)
    const ends = rows.flatMap(({ ends_at }) => ends_at ?? [])
    return {
      redirectUris: valuesOf('redirect'),
      postLogoutRedirectUris: valuesOf('logout'),
      chosenScopes: valuesOf('scope'),
      secretDigests: valuesOf('secret'),
      changesAt: ends.length > 0 ? Math.min(...ends) : undefined,
    }
  }
}

/** Converts a platform to a client, and reads from the database whether the platform is disabled. */
async function readIntegration({ kysely }: Database, vendor: Integration): Promise<Client> {
  const override = await kysely
    .selectFrom('integration_override')
    .select('disabled_at')
    .where('client_id', '=', vendor.client_id)
    .executeTakeFirst()
  return {
    clientId: vendor.client_id,
    origin: 'integration',
    name: vendor.client_name,
    redirectUris: vendor.redirect_uris,
    authMethod: vendor.token_endpoint_auth_method,
    // Only native clients may vary the port of a loopback URI or use a custom scheme (RFC 8252 §7.1 and §7.3).
    applicationType: vendor.redirect_uris.every((uri) => uri.startsWith('https:'))
      ? 'web'
      : 'native',
    chosenScopes: undefined,
    state: override?.disabled_at != null ? 'off' : 'active',
  }
}
