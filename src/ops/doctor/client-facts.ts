import type { Database } from '../../platform/store/database.ts'
import type { ClientFacts } from './judge-clients.ts'

/** A platform of the configuration, as far as it is judged. */
export interface Platform {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  readonly redirect_patterns: readonly string[]
  readonly token_endpoint_auth_method: 'none' | 'client_secret_post'
}

/** Reads what is known of every client that an operator made, in as many queries as there are tables. */
export async function readClientFacts(
  { kysely }: Database,
  { now }: { readonly now: number },
): Promise<ClientFacts[]> {
  const applications = await kysely
    .selectFrom('oauth_application')
    .selectAll()
    .where('deleted_at', 'is', null)
    .orderBy('client_id')
    .execute()
  const lists = await readLists({ kysely }, now)
  return applications.map((row) => {
    const use = lists.uses.get(row.client_id)
    return {
      clientId: row.client_id,
      name: row.name,
      kind: row.kind,
      applicationType: row.application_type,
      authMethod: row.auth_method,
      redirectUris: lists.redirectUris.get(row.client_id) ?? [],
      redirectPatterns: [],
      postLogoutUris: lists.postLogoutUris.get(row.client_id) ?? [],
      backchannelLogoutUri: row.backchannel_logout_uri ?? undefined,
      secretsMadeAt: lists.secrets.get(row.client_id) ?? [],
      jwks: row.jwks ?? undefined,
      jwksUri: row.jwks_uri ?? undefined,
      createdAt: row.created_at,
      lastUsedAt: use,
      scopes: lists.scopes.get(row.client_id) ?? [],
      grantedScopes: lists.granted.get(row.client_id) ?? [],
    }
  })
}

async function readLists({ kysely }: Pick<Database, 'kysely'>, now: number) {
  const redirects = await kysely
    .selectFrom('oauth_application_redirect_uri')
    .select(['client_id', 'uri as value'])
    .orderBy('position')
    .execute()
  const returns = await kysely
    .selectFrom('oauth_application_post_logout_uri')
    .select(['client_id', 'uri as value'])
    .execute()
  const scopes = await kysely
    .selectFrom('oauth_application_scope')
    .select(['client_id', 'scope as value'])
    .execute()
  const secrets = await kysely
    .selectFrom('client_secret')
    .select(['client_id', 'created_at as value'])
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .execute()
  const granted = await kysely
    .selectFrom('oauth_grant_scope as s')
    .innerJoin('oauth_grant as g', 'g.id', 's.grant_id')
    .select(['g.client_id', 's.scope as value'])
    .distinct()
    .where('g.ended_at', 'is', null)
    .execute()
  const uses = await kysely
    .selectFrom('oauth_grant')
    .select(({ fn }) => [
      'client_id',
      fn.max('last_used_at').as('used'),
      fn.max('granted_at').as('granted'),
    ])
    .groupBy('client_id')
    .execute()
  return {
    redirectUris: byClient(redirects),
    postLogoutUris: byClient(returns),
    scopes: byClient(scopes),
    secrets: byClient(secrets),
    granted: byClient(granted),
    uses: new Map(
      uses.map(({ client_id, used, granted: at }) => [client_id, Math.max(used ?? 0, at ?? 0)]),
    ),
  }
}

function byClient<Value>(rows: readonly { readonly client_id: string; readonly value: Value }[]) {
  const lists = new Map<string, Value[]>()
  for (const { client_id, value } of rows) {
    const list = lists.get(client_id)
    if (list) list.push(value)
    else lists.set(client_id, [value])
  }
  return lists
}

/** A platform has no row of its own: who may use it is in the configuration. */
export function platformFacts(platform: Platform): ClientFacts {
  return {
    clientId: platform.client_id,
    name: platform.client_name,
    kind: 'integration',
    applicationType: 'web',
    authMethod: platform.token_endpoint_auth_method,
    redirectUris: platform.redirect_uris,
    redirectPatterns: platform.redirect_patterns,
    postLogoutUris: [],
    backchannelLogoutUri: undefined,
    secretsMadeAt: [],
    jwks: undefined,
    jwksUri: undefined,
    createdAt: undefined,
    lastUsedAt: undefined,
    scopes: [],
    grantedScopes: [],
  }
}
