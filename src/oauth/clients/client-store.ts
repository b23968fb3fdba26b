import type { Selectable } from 'kysely'

import type { Config, Integration, ServicePolicy } from '../../config/config.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/site-admin.ts'
import type { Platform } from '../../platform/platform.ts'
import { compiled, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type Client, type ClientState, canBeClientId } from './client.ts'
import { lacksProtocol, type OptionalProtocols } from './optional-protocols.ts'

type ClientStoreDependencies = Pick<Platform, 'database' | 'now'> &
  Pick<Config, 'integrations'> &
  Pick<ServicePolicy, 'furtherPlans'>

/**
 * Creates the function that finds an application, a resource server or a platform. The result includes the digests of
 * its unexpired secrets. A deleted application or resource server has the state `deleted`.
 */
export function makeClientStore(dependencies: ClientStoreDependencies) {
  const { database, integrations, furtherPlans, now } = dependencies
  const vendors = new Map(integrations.map((row) => [row.client_id, row]))
  const readApplication = applicationReader(database, furtherPlans)
  const readSecrets = secretsReader(database)
  return async (clientId: string): Promise<Client | undefined> => {
    if (!canBeClientId(clientId)) return undefined
    const vendor = vendors.get(clientId)
    const [found, secrets] = await Promise.all([
      vendor ? readIntegration(database, vendor) : readApplication(clientId),
      readSecrets(clientId, now()),
    ])
    return found && { ...found, ...secrets }
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
      redirectUris: JSON.parse(row.redirect_uris),
      postLogoutRedirectUris: JSON.parse(row.post_logout_redirect_uris),
      chosenScopes: JSON.parse(row.scopes),
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

/** Creates the query for the digests of a client's unexpired secrets, and for the earliest expiry among them. */
function secretsReader({ kysely }: Database) {
  const query = compiled(kysely, (value: Valued<{ clientId: string; nowMs: number }>) =>
    kysely
      .selectFrom('client_secret')
      .select(['digest', 'expires_at'])
      .where('client_id', '=', value('clientId'))
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', value('nowMs'))])),
  )
  return async (clientId: string, nowMs: number) => {
    const { rows } = await query({ clientId, nowMs })
    const ends = rows.flatMap(({ expires_at }) => expires_at ?? [])
    return {
      secretDigests: rows.map(({ digest }) => digest),
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
    // Only native clients may use a custom scheme or vary the port of a loopback URI (RFC 8252 §7.1 and §7.3).
    applicationType: vendor.redirect_uris.every((uri) => uri.startsWith('https:'))
      ? 'web'
      : 'native',
    chosenScopes: undefined,
    state: override?.disabled_at != null ? 'off' : 'active',
  }
}
