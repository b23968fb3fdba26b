import type { Config } from '../../config/config.ts'
import { readKeySet } from '../../oauth/clients/further-plans.ts'
import { isLoopbackHost, isNamedLoopback } from '../../platform/http/loopback.ts'
import type { Database } from '../../platform/store/database.ts'
import { type CheckName, type Finding, found, ok } from './checks.ts'

/** What doctor knows of a client; times in epoch milliseconds. */
export interface ClientFacts {
  readonly clientId: string
  readonly name: string
  /** A resource server has no sign-ins, and a platform's client is no row that an operator made. */
  readonly kind: 'site' | 'resource_server' | 'integration'
  readonly applicationType: 'web' | 'native'
  readonly authMethod: 'none' | 'client_secret_post' | 'private_key_jwt'
  readonly redirectUris: readonly string[]
  readonly redirectPatterns: readonly string[]
  readonly postLogoutUris: readonly string[]
  readonly backchannelLogoutUri: string | undefined
  /** When each of its live secrets was made. */
  readonly secretsMadeAt: readonly number[]
  readonly jwks: string | undefined
  readonly jwksUri: string | undefined
  readonly createdAt: number | undefined
  /** When a token of it was last used, or a person last allowed it something. */
  readonly lastUsedAt: number | undefined
  readonly scopes: readonly string[]
  /** Those of its grants that have not ended. */
  readonly grantedScopes: readonly string[]
}

/** What is the same for all clients. */
export interface ClientPolicy {
  readonly now: number
  /** Whether clients may authenticate with keys here. */
  readonly privateKeyJwt: boolean
}

const DAY_MS = 86_400_000
const SECRET_AGE_DAYS_MAX = 365
const CHANGE_OVER_DAYS_MAX = 30
const UNUSED_DAYS_MAX = 30
const IDLE_DAYS_MAX = 90

/** What is not as it should be, as the end of a sentence about the client. */
type Rule = (client: ClientFacts, policy: ClientPolicy) => string | undefined

const addresses = (has: (uri: string, url: URL | null) => boolean) => (client: ClientFacts) =>
  listed(
    'has the redirect address',
    client.redirectUris.filter((uri) => has(uri, URL.parse(uri))),
  )

/** The same of clients that an operator can change; a platform chose its own. */
const ownAddresses = (has: (url: URL | null) => boolean) => (client: ClientFacts) =>
  client.kind === 'integration' ? undefined : addresses((_uri, url) => has(url))(client)

const rules: Readonly<Partial<Record<CheckName, Rule>>> = {
  'client.address-in-clear': addresses((_uri, url) => isInClear(url)),
  'client.address-pattern': addresses((uri) => /[*{}]|%2a|%7b/i.test(uri)),
  'client.address-fragment': addresses((uri) => uri.includes('#')),
  'client.named-loopback': ownAddresses((url) => isNamedLoopback(url?.hostname ?? '')),
  'client.scheme-undotted': ownAddresses((url) => !/^https?:$|\./.test(url?.protocol ?? '.')),
  'client.loopback-beside-web': (client) => {
    const onThisMachine = client.redirectUris.filter((uri) => {
      const url = URL.parse(uri)
      return url?.protocol === 'http:' && isLoopbackHost(url.hostname)
    })
    const isMixed = onThisMachine.length < client.redirectUris.length
    if (client.kind !== 'site' || client.applicationType !== 'web' || !isMixed) return undefined
    return listed('has, beside its addresses in the web,', onThisMachine)
  },
  'client.free-segment': ({ redirectPatterns }) => listed('has the pattern', redirectPatterns),
  'client.sign-out-in-clear': ({ postLogoutUris }) =>
    listed(
      'returns after a sign-out to',
      postLogoutUris.filter((uri) => isInClear(URL.parse(uri))),
    ),
  'client.notices-in-clear': ({ backchannelLogoutUri: uri }) =>
    uri !== undefined && isInClear(URL.parse(uri)) ? `hears of sign-outs at ${uri}` : undefined,
  'client.no-secret': ({ kind, authMethod, secretsMadeAt }) =>
    kind !== 'integration' && authMethod === 'client_secret_post' && secretsMadeAt.length === 0
      ? 'authenticates with a secret and has none'
      : undefined,
  'client.secret-old': ({ authMethod, secretsMadeAt }, { now }) => {
    const days = daysSince(Math.min(...secretsMadeAt), now)
    if (authMethod !== 'client_secret_post' || !(days > SECRET_AGE_DAYS_MAX)) return undefined
    return `has a secret that is ${days} days old`
  },
  'client.secret-unused': ({ authMethod, secretsMadeAt }) =>
    authMethod !== 'client_secret_post' && secretsMadeAt.length > 0
      ? `has ${secretsMadeAt.length} live secrets although it authenticates by ${authMethod}`
      : undefined,
  'client.secrets-two': ({ secretsMadeAt }, { now }) => {
    const days = daysSince(Math.max(...secretsMadeAt), now)
    if (secretsMadeAt.length < 2 || days <= CHANGE_OVER_DAYS_MAX) return undefined
    return `has had two live secrets for ${days} days`
  },
  'client.secret-shared': ({ kind, authMethod }, { privateKeyJwt }) =>
    privateKeyJwt && kind !== 'integration' && authMethod === 'client_secret_post'
      ? 'authenticates with a shared secret'
      : undefined,
  'client.key-weak': ({ jwks }) => {
    const read = jwks === undefined ? undefined : readKeySet(jwks)
    return read && 'problem' in read ? `has keys that are not taken: ${read.problem}` : undefined
  },
  'client.keys-in-clear': ({ jwksUri }) =>
    jwksUri !== undefined && URL.parse(jwksUri)?.protocol !== 'https:'
      ? `has its keys at ${jwksUri}`
      : undefined,
  'client.never-used': ({ kind, createdAt, lastUsedAt }, { now }) => {
    if (kind !== 'site' || createdAt === undefined || lastUsedAt !== undefined) return undefined
    const days = daysSince(createdAt, now)
    return days > UNUSED_DAYS_MAX ? `was made ${days} days ago and never used` : undefined
  },
  'client.idle': ({ kind, authMethod, lastUsedAt }, { now }) => {
    if (kind !== 'site' || lastUsedAt === undefined) return undefined
    const days = daysSince(lastUsedAt, now)
    const who = authMethod === 'none' ? '' : ', and its credentials are good still'
    return days > IDLE_DAYS_MAX ? `was used ${days} days ago for the last time${who}` : undefined
  },
  'client.scopes-unused': ({ kind, scopes, grantedScopes, lastUsedAt }) => {
    if (kind !== 'site' || lastUsedAt === undefined || grantedScopes.length === 0) return undefined
    return listed(
      'may ask for, and nobody has allowed it,',
      scopes.filter((scope) => !grantedScopes.includes(scope)),
    )
  },
}

/** Judges each client by every rule. The first finding says how many clients there were. */
export function judgeClients(clients: readonly ClientFacts[], policy: ClientPolicy): Finding[] {
  const findings = clients.flatMap((client) =>
    Object.entries(rules).flatMap(([check, rule]) => {
      const said = rule(client, policy)
      if (said === undefined) return []
      return [found(check as CheckName, `The client ${client.clientId} (${client.name}) ${said}`)]
    }),
  )
  const isWell = findings.every(({ severity }) => severity === 'note')
  const all = `${clients.length} clients were judged by RFC 9700 and OAuth 2.1`
  return [ok(isWell ? `${all}; none is weak.` : `${all}.`), ...findings]
}

function listed(words: string, values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : `${words} ${values.join(', ')}`
}

function isInClear(url: URL | null): boolean {
  return url?.protocol === 'http:' && !isLoopbackHost(url.hostname)
}

/** NaN of a time that never was. */
function daysSince(timestamp: number, now: number): number {
  return Number.isFinite(timestamp) ? Math.floor((now - timestamp) / DAY_MS) : Number.NaN
}

/** A platform has no row of its own: who may use it is in the configuration. */
export function platformFacts(platform: Config['integrations'][number]): ClientFacts {
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

/** The facts of every client that an operator made, in one query for each table. */
export async function readClientFacts({ kysely }: Database, now: number): Promise<ClientFacts[]> {
  const applications = await kysely
    .selectFrom('oauth_application')
    .selectAll()
    .where('deleted_at', 'is', null)
    .orderBy('client_id')
    .execute()
  const redirectUris = await readLists(
    kysely
      .selectFrom('oauth_application_redirect_uri')
      .select(['client_id', 'uri as value'])
      .orderBy('position'),
  )
  const postLogoutUris = await readLists(
    kysely.selectFrom('oauth_application_post_logout_uri').select(['client_id', 'uri as value']),
  )
  const scopes = await readLists(
    kysely.selectFrom('oauth_application_scope').select(['client_id', 'scope as value']),
  )
  const secrets = await readLists(
    kysely
      .selectFrom('client_secret')
      .select(['client_id', 'created_at as value'])
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)])),
  )
  const granted = await readLists(
    kysely
      .selectFrom('oauth_grant_scope as s')
      .innerJoin('oauth_grant as g', 'g.id', 's.grant_id')
      .select(['g.client_id', 's.scope as value'])
      .distinct()
      .where('g.ended_at', 'is', null),
  )
  const lastUses = await readLastUses(kysely)
  return applications.map((row) => ({
    clientId: row.client_id,
    name: row.name,
    kind: row.kind,
    applicationType: row.application_type,
    authMethod: row.auth_method,
    redirectUris: redirectUris(row.client_id),
    redirectPatterns: [],
    postLogoutUris: postLogoutUris(row.client_id),
    backchannelLogoutUri: row.backchannel_logout_uri ?? undefined,
    secretsMadeAt: secrets(row.client_id),
    jwks: row.jwks ?? undefined,
    jwksUri: row.jwks_uri ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: lastUses.get(row.client_id),
    scopes: scopes(row.client_id),
    grantedScopes: granted(row.client_id),
  }))
}

/** The values of each client, of rows that have one each. */
async function readLists<Value>(query: {
  execute(): Promise<readonly { readonly client_id: string; readonly value: Value }[]>
}) {
  const lists = Map.groupBy(await query.execute(), ({ client_id }) => client_id)
  return (clientId: string): Value[] => lists.get(clientId)?.map(({ value }) => value) ?? []
}

async function readLastUses(kysely: Database['kysely']): Promise<Map<string, number>> {
  const rows = await kysely
    .selectFrom('oauth_grant')
    .select(({ fn }) => [
      'client_id',
      fn.max('last_used_at').as('used'),
      fn.max('granted_at').as('granted'),
    ])
    .groupBy('client_id')
    .execute()
  return new Map(rows.map((row) => [row.client_id, Math.max(row.used ?? 0, row.granted ?? 0)]))
}
