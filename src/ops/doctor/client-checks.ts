import { isLoopbackHost, isNamedLoopback } from '../../platform/http/loopback.ts'
import type { Database } from '../../platform/store/database.ts'
import { type CheckName, found, ok } from './checks.ts'

/** An application or resource server, with the creation times of its unexpired secrets in epoch milliseconds. */
export type ClientFacts = Awaited<ReturnType<typeof readClientFacts>>[number]

const DAY_MS = 86_400_000
const SECRET_AGE_DAYS_MAX = 365
const CHANGE_OVER_DAYS_MAX = 30

/** Returns a client's fault as the end of a sentence, or undefined. */
type Rule = (client: ClientFacts, now: number) => string | undefined

const redirectUris =
  (has: (uri: string, url: URL | null) => boolean): Rule =>
  (client) => {
    const uris = client.redirectUris.filter((uri) => has(uri, URL.parse(uri)))
    return uris.length === 0 ? undefined : `lists ${uris.join(', ')} among its redirect URIs`
  }

const isInClear = (url: URL | null) => url?.protocol === 'http:' && !isLoopbackHost(url.hostname)

/** The rule for each finding about a client. Forms and imports enforce further rules, which need no check here. */
const rules: Readonly<Partial<Record<CheckName, Rule>>> = {
  'client.address-in-clear': redirectUris((_uri, url) => isInClear(url)),
  'client.address-pattern': redirectUris((uri) => /[*{}]|%2a|%7b/i.test(uri)),
  'client.named-loopback': redirectUris((_uri, url) => isNamedLoopback(url?.hostname ?? '')),
  'client.scheme-undotted': redirectUris((_uri, url) => !/^https?:$|\./.test(url?.protocol ?? '.')),
  'client.no-secret': ({ auth_method, secretsMadeAt }) =>
    auth_method === 'client_secret_post' && secretsMadeAt.length === 0
      ? 'authenticates with a secret, but has none'
      : undefined,
  'client.secret-old': ({ auth_method, secretsMadeAt }, now) => {
    const days = daysSince(Math.min(...secretsMadeAt), now)
    if (auth_method !== 'client_secret_post' || days <= SECRET_AGE_DAYS_MAX) return undefined
    return `has a secret that is ${days} days old`
  },
  'client.secrets-two': ({ secretsMadeAt }, now) => {
    const days = daysSince(Math.max(...secretsMadeAt), now)
    if (secretsMadeAt.length < 2 || days <= CHANGE_OVER_DAYS_MAX) return undefined
    return `has had two active secrets for ${days} days`
  },
}

/** Checks all applications and resource servers that are not deleted. */
export async function checkClients(database: Database) {
  const now = Date.now()
  return judgeClients(await readClientFacts(database, now), now)
}

/** Checks each client against the rules. The first finding states the number of clients. */
export function judgeClients(clients: readonly ClientFacts[], now: number) {
  const findings = clients.flatMap((client) =>
    Object.entries(rules).flatMap(([check, rule]) => {
      const fault = rule(client, now)
      if (fault === undefined) return []
      return [found(check as CheckName, `The client ${client.clientId} (${client.name}) ${fault}`)]
    }),
  )
  const all = `Clients checked against RFC 9700 and OAuth 2.1: ${clients.length}`
  return [ok(findings.length === 0 ? `${all}; no weaknesses found.` : `${all}.`), ...findings]
}

/** Returns the number of full days since a time. Without secrets, the time is ±Infinity and the result ∓Infinity. */
function daysSince(timestamp: number, now: number): number {
  return Math.floor((now - timestamp) / DAY_MS)
}

/** Reads all applications and resource servers that are not deleted, with the creation times of unexpired secrets. */
async function readClientFacts({ kysely }: Database, now: number) {
  const applications = await kysely
    .selectFrom('oauth_application')
    .select(['client_id as clientId', 'name', 'auth_method', 'redirect_uris'])
    .where('deleted_at', 'is', null)
    .orderBy('client_id')
    .execute()
  const secrets = await kysely
    .selectFrom('client_secret')
    .select(['client_id', 'created_at'])
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .execute()
  const secretsOf = Map.groupBy(secrets, ({ client_id }) => client_id)
  return applications.map(({ redirect_uris, ...row }) => ({
    ...row,
    redirectUris: JSON.parse(redirect_uris) as string[],
    secretsMadeAt: secretsOf.get(row.clientId)?.map(({ created_at }) => created_at) ?? [],
  }))
}
