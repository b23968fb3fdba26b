import { readKeySet } from '../../oauth/clients/further-plans.ts'
import { isLoopbackHost, isNamedLoopback } from '../../platform/http/loopback.ts'
import { type CheckName, type Finding, found, ok } from './checks.ts'

/** What doctor knows of a client; times in epoch milliseconds. */
export interface ClientFacts {
  readonly clientId: string
  readonly name: string
  /** A resource server authorizes nobody, and a platform's client is no row that an operator made. */
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
  /** The last time that a token of it was used, or that somebody allowed it something. */
  readonly lastUsedAt: number | undefined
  readonly scopes: readonly string[]
  /** Those that somebody has allowed it, in a grant that lives. */
  readonly grantedScopes: readonly string[]
}

/** What is common to all clients. */
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

/** Says what is not as it should be, or nothing; the name of the client stands before it. */
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
    const onThisMachine = client.redirectUris.filter((uri) => isOnThisMachine(URL.parse(uri)))
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

/** Judges each client by every rule; a client without a finding is counted among those that are well. */
export function judgeClients(clients: readonly ClientFacts[], policy: ClientPolicy): Finding[] {
  const findings = clients.flatMap((client) => judgeClient(client, policy))
  const worse = findings.filter(({ severity }) => severity !== 'note').length
  const all = `${clients.length} clients were judged by RFC 9700 and OAuth 2.1`
  return [ok(worse === 0 ? `${all}; none is weak.` : `${all}.`), ...findings]
}

function judgeClient(client: ClientFacts, policy: ClientPolicy): Finding[] {
  return Object.entries(rules).flatMap(([check, rule]) => {
    const said = rule(client, policy)
    if (said === undefined) return []
    return [found(check as CheckName, `The client ${client.clientId} (${client.name}) ${said}`)]
  })
}

function listed(words: string, values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : `${words} ${values.join(', ')}`
}

function isInClear(url: URL | null): boolean {
  return url?.protocol === 'http:' && !isLoopbackHost(url.hostname)
}

function isOnThisMachine(url: URL | null): boolean {
  return url?.protocol === 'http:' && isLoopbackHost(url.hostname)
}

/** Not a number of anything that never happened. */
function daysSince(timestamp: number, now: number): number {
  return Number.isFinite(timestamp) ? Math.floor((now - timestamp) / DAY_MS) : Number.NaN
}
