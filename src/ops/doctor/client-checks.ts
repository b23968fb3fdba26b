import type { Config } from '../../config/config.ts'
import { isLoopbackHost, isNamedLoopback } from '../../platform/http/loopback.ts'
import { readKeySet } from '../../platform/http/public-keys.ts'
import type { Database } from '../../platform/store/database.ts'
import { type CheckName, type Finding, found, ok } from './checks.ts'

/** An application or a configured integration, with the properties that both have. */
type AnyClient = Pick<ClientFacts, 'clientId' | 'name' | 'redirectUris' | 'redirectPatterns'>

/** An application with its secrets, scopes and last use. Times are in epoch milliseconds. */
export type ClientFacts = Awaited<ReturnType<typeof readClientFacts>>[number]

interface ClientPolicy {
  readonly now: number
  readonly privateKeyJwt: boolean
}

const DAY_MS = 86_400_000
const SECRET_AGE_DAYS_MAX = 365
const CHANGE_OVER_DAYS_MAX = 30
const UNUSED_DAYS_MAX = 30
const IDLE_DAYS_MAX = 90

/** The rule for each finding. Each rule returns a client's fault as the end of a sentence, or undefined. */
type Rules<Client> = Readonly<
  Partial<Record<CheckName, (client: Client, policy: ClientPolicy) => string | undefined>>
>

const addresses = (has: (uri: string, url: URL | null) => boolean) => (client: AnyClient) =>
  listed(
    'has the redirect URI',
    client.redirectUris.filter((uri) => has(uri, URL.parse(uri))),
  )

const rulesOfAll: Rules<AnyClient> = {
  'client.address-in-clear': addresses((_uri, url) => isInClear(url)),
  'client.address-pattern': addresses((uri) => /[*{}]|%2a|%7b/i.test(uri)),
  'client.address-fragment': addresses((uri) => uri.includes('#')),
  'client.free-segment': ({ redirectPatterns }) => listed('has the pattern', redirectPatterns),
}

/** Rules for applications, which operators can change. The callbacks of integrations are chosen by vendors. */
const rulesOfApplications: Rules<ClientFacts> = {
  ...rulesOfAll,
  'client.named-loopback': addresses((_uri, url) => isNamedLoopback(url?.hostname ?? '')),
  'client.scheme-undotted': addresses((_uri, url) => !/^https?:$|\./.test(url?.protocol ?? '.')),
  'client.loopback-beside-web': (client) => {
    const onThisMachine = client.redirectUris.filter((uri) => {
      const url = URL.parse(uri)
      return url?.protocol === 'http:' && isLoopbackHost(url.hostname)
    })
    const isMixed = onThisMachine.length < client.redirectUris.length
    if (client.kind !== 'site' || client.application_type !== 'web' || !isMixed) return undefined
    return listed('has, in addition to web URLs,', onThisMachine)
  },
  'client.sign-out-in-clear': ({ postLogoutUris }) =>
    listed(
      'has the post-logout redirect URI',
      postLogoutUris.filter((uri) => isInClear(URL.parse(uri))),
    ),
  'client.notices-in-clear': ({ backchannel_logout_uri: uri }) =>
    uri !== null && isInClear(URL.parse(uri)) ? `receives sign-out notices at ${uri}` : undefined,
  'client.no-secret': ({ auth_method, secretsMadeAt }) =>
    auth_method === 'client_secret_post' && secretsMadeAt.length === 0
      ? 'authenticates with a secret, but has none'
      : undefined,
  'client.secret-old': ({ auth_method, secretsMadeAt }, { now }) => {
    const days = daysSince(Math.min(...secretsMadeAt), now)
    if (auth_method !== 'client_secret_post' || !(days > SECRET_AGE_DAYS_MAX)) return undefined
    return `has a secret that is ${days} days old`
  },
  'client.secret-unused': ({ auth_method, secretsMadeAt }) =>
    auth_method !== 'client_secret_post' && secretsMadeAt.length > 0
      ? `has unused secrets (${secretsMadeAt.length}), because its authentication method is ${auth_method}`
      : undefined,
  'client.secrets-two': ({ secretsMadeAt }, { now }) => {
    const days = daysSince(Math.max(...secretsMadeAt), now)
    if (secretsMadeAt.length < 2 || days <= CHANGE_OVER_DAYS_MAX) return undefined
    return `has had two active secrets for ${days} days`
  },
  'client.secret-shared': ({ auth_method }, { privateKeyJwt }) =>
    privateKeyJwt && auth_method === 'client_secret_post'
      ? 'authenticates with a shared secret'
      : undefined,
  'client.key-weak': ({ jwks }) => {
    const read = jwks === null ? undefined : readKeySet(jwks)
    return read && 'problem' in read
      ? `has a key set that cannot be used: ${read.problem}`
      : undefined
  },
  'client.keys-in-clear': ({ jwks_uri: uri }) =>
    uri !== null && URL.parse(uri)?.protocol !== 'https:' ? `has its keys at ${uri}` : undefined,
  'client.never-used': ({ kind, created_at, lastUsedAt }, { now }) => {
    if (kind !== 'site' || lastUsedAt !== undefined) return undefined
    const days = daysSince(created_at, now)
    return days > UNUSED_DAYS_MAX
      ? `was created ${days} days ago and has never been used`
      : undefined
  },
  'client.idle': ({ kind, auth_method, lastUsedAt }, { now }) => {
    if (kind !== 'site' || lastUsedAt === undefined) return undefined
    const days = daysSince(lastUsedAt, now)
    const risk = auth_method === 'none' ? '' : ', and its credentials still work'
    return days > IDLE_DAYS_MAX ? `was last used ${days} days ago${risk}` : undefined
  },
  'client.scopes-unused': ({ kind, scopes, grantedScopes, lastUsedAt }) => {
    if (kind !== 'site' || lastUsedAt === undefined || grantedScopes.length === 0) return undefined
    return listed(
      'may request scopes that no current grant includes:',
      scopes.filter((scope) => !grantedScopes.includes(scope)),
    )
  },
}

/** Checks all applications and configured integrations. */
export async function checkClients({ integrations, service }: Config, database: Database) {
  const now = Date.now()
  const clients = [...(await readClientFacts(database, now)), ...integrations.map(platformFacts)]
  return judgeClients(clients, { now, privateKeyJwt: service.furtherPlans.privateKeyJwt })
}

/** Checks each client against the rules for its kind. The first finding states the number of clients. */
export function judgeClients(clients: readonly (ClientFacts | AnyClient)[], policy: ClientPolicy) {
  const findings = clients.flatMap((client) =>
    'kind' in client
      ? judge(client, rulesOfApplications, policy)
      : judge(client, rulesOfAll, policy),
  )
  const isSound = findings.every(({ severity }) => severity === 'note')
  const all = `Clients checked against RFC 9700 and OAuth 2.1: ${clients.length}`
  return [ok(isSound ? `${all}; no weaknesses found.` : `${all}.`), ...findings]
}

function judge<Client extends AnyClient>(
  client: Client,
  rules: Rules<Client>,
  policy: ClientPolicy,
): Finding[] {
  return Object.entries(rules).flatMap(([check, rule]) => {
    const fault = rule(client, policy)
    if (fault === undefined) return []
    return [found(check as CheckName, `The client ${client.clientId} (${client.name}) ${fault}`)]
  })
}

function listed(words: string, values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : `${words} ${values.join(', ')}`
}

function isInClear(url: URL | null): boolean {
  return url?.protocol === 'http:' && !isLoopbackHost(url.hostname)
}

/** Returns the full days since a given time, or NaN for an infinite time, such as `Math.min()` of an empty list. */
function daysSince(timestamp: number, now: number): number {
  return Number.isFinite(timestamp) ? Math.floor((now - timestamp) / DAY_MS) : Number.NaN
}

function platformFacts(platform: Config['integrations'][number]): AnyClient {
  return {
    clientId: platform.client_id,
    name: platform.client_name,
    redirectUris: platform.redirect_uris,
    redirectPatterns: platform.redirect_patterns,
  }
}

/** Reads all applications that are not deleted, with their secrets, scopes and last use. */
async function readClientFacts({ kysely }: Database, now: number) {
  const applications = await kysely
    .selectFrom('oauth_application')
    .select(['client_id as clientId', 'name', 'kind', 'created_at', 'application_type'])
    .select(['auth_method', 'backchannel_logout_uri', 'jwks', 'jwks_uri'])
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
    ...row,
    redirectUris: redirectUris(row.clientId),
    redirectPatterns: [] as readonly string[],
    postLogoutUris: postLogoutUris(row.clientId),
    /** The creation times of the unexpired secrets. */
    secretsMadeAt: secrets(row.clientId),
    /** The later of the last use of a token and the newest grant's start; undefined if there is no grant. */
    lastUsedAt: lastUses.get(row.clientId),
    scopes: scopes(row.clientId),
    /** The scopes of all grants to the application. Includes expired grants, but not grants that ended early. */
    grantedScopes: granted(row.clientId),
  }))
}

/** Runs the query, and returns a function that looks up the values of a client. */
async function readLists<Value>(query: {
  execute(): Promise<readonly { readonly client_id: string; readonly value: Value }[]>
}) {
  const lists = Map.groupBy(await query.execute(), ({ client_id }) => client_id)
  return (clientId: string): readonly Value[] =>
    lists.get(clientId)?.map(({ value }) => value) ?? []
}

async function readLastUses(kysely: Database['kysely']) {
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
