/** What anybody can make this service keep, for how long, and what bounds it. What keeps it is elsewhere. */

import { REFUSALS_PER_CLIENT } from '../applications/application-refusals.ts'
import type { Integration, ServicePolicy } from '../config/config.ts'
import { paths, planPaths } from '../http/paths.ts'
import { STALE_MS } from '../metadata-documents/document-clients.ts'
import { fetchBounds } from '../metadata-documents/fetch-governor.ts'
import { UNUSED_DOCUMENTS_MAX } from '../metadata-documents/unused-documents.ts'

/** The configuration in force, of which every figure below is made. */
export interface InForce {
  readonly service: ServicePolicy
  readonly integrations: readonly Integration[]
}

export interface Kept {
  readonly what: string
  /** Addresses of `http/paths.ts` at which somebody who is not signed in leaves it. */
  readonly at: readonly string[]
  readonly where: string
  /** How long; nothing where one takes the place of another. */
  readonly seconds?: number
  /** The largest one, with the keys and columns beside it. */
  readonly bytesMax: number
  /** What bounds how many there are, as a sentence that names its setting. */
  readonly bound: string
  /** How many there are at most because of that, of one network. */
  readonly perNetworkMax?: number
  /** How many one address can make in an hour, where its requests are limited. */
  readonly perHourMax?: number
}

/** Columns, keys and JSON around what was sent; `test/strangers.test.ts` measures that it is enough. */
const BESIDE_BYTES = 1200
/** Ten redirect addresses and ten for after a sign-out, of 512 bytes, and a name of 100 characters. */
const REGISTERED_BYTES_MAX = 20 * 515 + 400
const DOCUMENT_BYTES_MAX = 5120
const URI_BYTES_MAX = 512
const REDIRECT_URIS_MAX = 10
const REFUSAL_BYTES_MAX = 1000
/** As the engine keeps a pushed request: as base64url, in a JWT. */
const PUSHED_SECONDS = 60
const DAY_SECONDS = 86_400
const HOUR_SECONDS = 3600

/** Everything in the stores that somebody leaves there without having signed in. */
export function keptForStrangers({ service, integrations }: InForce): readonly Kept[] {
  return [
    ...requests(service),
    ...clients(service, integrations),
    {
      what: 'a refusal that its operator is shown',
      at: [paths.authorization, paths.token, paths.revocation, paths.introspection],
      where: 'database, `client_refusal`',
      bytesMax: REFUSAL_BYTES_MAX,
      bound: `the last ${REFUSALS_PER_CLIENT} of each application`,
    },
    {
      what: 'that a proof of a key was used (`furtherPlans.dpop`, `privateKeyJwt`)',
      at: [paths.token, paths.revocation, paths.introspection, planPaths.pushedAuthorization],
      where: 'OAuth state, `ReplayDetection`',
      seconds: DAY_SECONDS,
      bytesMax: 200,
      bound:
        'only what was signed by the key of a client, or with a good code or token, and as long as it would be accepted',
    },
  ]
}

function requests(service: ServicePolicy): Kept[] {
  const { authorizationRequests: limits, lifetimes } = service
  const asked = requestsPerHour(service)
  return [
    {
      what: 'an authorization request, while the person has not answered',
      at: [paths.authorization],
      where: 'OAuth state, `Interaction`',
      seconds: lifetimes.interactionSeconds,
      bytesMax: limits.bytesMax + BESIDE_BYTES,
      bound: '`authorizationRequests.bytesMax` each',
      ...asked,
    },
    {
      what: 'a pushed authorization request (`furtherPlans.pushedAuthorizationRequests`)',
      at: [planPaths.pushedAuthorization],
      where: 'OAuth state, `PushedAuthorizationRequest`',
      seconds: PUSHED_SECONDS,
      bytesMax: Math.ceil((limits.bytesMax * 4) / 3) + BESIDE_BYTES,
      bound: '`authorizationRequests.bytesMax` each',
      ...asked,
    },
    {
      what: 'a request to sign out, while it is not confirmed',
      at: [paths.endSession],
      where: 'OAuth state, `Session`',
      seconds: lifetimes.interactionSeconds,
      bytesMax: limits.stateBytesMax + URI_BYTES_MAX + BESIDE_BYTES,
      bound: '`authorizationRequests.stateBytesMax` each',
    },
  ]
}

function clients(service: ServicePolicy, integrations: readonly Integration[]): Kept[] {
  const { registration, lifetimes, metadataDocuments } = service
  const { registrationsPerAddressMax, registrationWindowSeconds } = registration
  const registrations = Math.floor(
    (registrationsPerAddressMax * HOUR_SECONDS) / registrationWindowSeconds,
  )
  const platforms = integrations.filter((row) => row.redirect_patterns.length > 0).length
  const { refreshTokenAbsoluteSeconds, accessTokenSeconds } = lifetimes
  const hosts = metadataDocuments.openRegistration
    ? 'any host (`metadataDocuments.openRegistration`)'
    : `${metadataDocuments.hosts.length} hosts (\`metadataDocuments.hosts\`)`
  return [
    {
      what: 'a program that registered itself, until somebody allows something with it',
      at: [paths.registration],
      where: 'OAuth state, `Client`, and database, `unused_client`',
      seconds: registration.unusedClientSeconds,
      bytesMax: REGISTERED_BYTES_MAX + BESIDE_BYTES,
      bound:
        '`registration.unusedClientsPerNetworkMax` of a network, the oldest give way; `registration.registrationsPerAddressMax`',
      perNetworkMax: registration.unusedClientsPerNetworkMax,
      perHourMax: registrations,
    },
    {
      what: 'a callback that a pattern of a platform admitted, until somebody allows something that returns there',
      at: [paths.registration],
      where: 'database, `platform_callback`',
      seconds: registration.unusedCallbackSeconds,
      bytesMax: URI_BYTES_MAX + 200,
      bound: `\`registration.callbacksPerPlatformMax\` of each of the ${platforms} platforms with a pattern, the oldest unused give way`,
      perNetworkMax: registration.callbacksPerPlatformMax * platforms,
      perHourMax: registrations * REDIRECT_URIS_MAX,
    },
    {
      what: 'the copy of a metadata document',
      at: [paths.authorization, planPaths.pushedAuthorization],
      where: 'database, `document_client`',
      seconds: STALE_MS / 1000 + refreshTokenAbsoluteSeconds + accessTokenSeconds,
      bytesMax: DOCUMENT_BYTES_MAX + BESIDE_BYTES,
      bound: `documents of ${hosts} only; a process fetches ${fetchBounds.perMinuteMax} a minute, ${fetchBounds.perMinuteAndHostMax} of one host; ${UNUSED_DOCUMENTS_MAX} in all with which nobody allowed anything, the oldest give way`,
      perNetworkMax: UNUSED_DOCUMENTS_MAX,
      perHourMax: fetchBounds.perMinuteAndHostMax * 60,
    },
  ]
}

/** Where requests are limited by their size, that many of the smallest or so many bytes of the largest. */
function requestsPerHour(service: ServicePolicy): Pick<Kept, 'perHourMax'> {
  const { limits } = service as {
    limits?: { windowSeconds: number; authorizationKilobytesPerAddressMax: number }
  }
  if (!limits) return {}
  const kilobytes = service.authorizationRequests.bytesMax / 1000
  const points = (limits.authorizationKilobytesPerAddressMax * HOUR_SECONDS) / limits.windowSeconds
  return { perHourMax: Math.floor(points / kilobytes) }
}

/** What one network can have in the stores at a time, where that is bounded; in bytes. */
export function keptOfNetwork({
  bytesMax,
  perNetworkMax,
  perHourMax,
  seconds,
}: Kept): number | undefined {
  const byRate =
    perHourMax === undefined || seconds === undefined
      ? undefined
      : (perHourMax * seconds) / HOUR_SECONDS
  const counts = [perNetworkMax, byRate].flatMap((count) => count ?? [])
  return counts.length === 0 ? undefined : Math.ceil(Math.min(...counts)) * bytesMax
}

/** What one address can add to the stores in an hour, where that is bounded; in bytes. */
export function keptInAnHour({ bytesMax, perHourMax, perNetworkMax }: Kept): number | undefined {
  if (perHourMax === undefined) return undefined
  return Math.min(perHourMax, perNetworkMax ?? perHourMax) * bytesMax
}

export interface Remembered {
  readonly what: string
  readonly file: string
  readonly bound: string
}

/** Every memory of a process that grows by what callers choose to send, and outlives the request. */
export const rememberedInMemory: readonly Remembered[] = [
  {
    what: 'attempts to sign in, by account and by address',
    file: 'src/people/attempt-limits.ts',
    bound: 'one window each (`signIn.failureWindowSeconds`)',
  },
  {
    what: 'calls of tools and registrations, by address and by caller',
    file: 'src/store/rate-limits.ts',
    bound: 'one window each (`mcp.windowSeconds`, `registration.registrationWindowSeconds`)',
  },
  {
    what: 'documents that could not be fetched',
    file: 'src/metadata-documents/document-clients.ts',
    bound: '1000, for 10 seconds',
  },
  {
    what: 'requests to servers of clients',
    file: 'src/metadata-documents/fetch-governor.ts',
    bound: `the ${fetchBounds.perMinuteMax} of a minute`,
  },
  {
    what: 'clients, as they are shown to the engine',
    file: 'src/clients/kept-clients.ts',
    bound: '1000 that exist',
  },
  {
    what: 'GraphQL documents of callers with a token',
    file: 'src/graphql/documents.ts',
    bound: '`memberApi` and `adminApi`: `cachedDocumentsMax`, `cachedCharactersMax`',
  },
  {
    what: 'the scopes that a document needs',
    file: 'src/admin-api/needed-scopes.ts',
    bound: 'as long as the document, once for each of its operations',
  },
  {
    what: 'lists of tools, by the scopes of a token',
    file: 'src/mcp/tool-catalogue.ts',
    bound: '500',
  },
  {
    what: 'refusals that wait to be written',
    file: 'src/applications/application-refusals.ts',
    bound: `${REFUSALS_PER_CLIENT} of each of 500 clients, for \`storage.usageFlushSeconds\``,
  },
  {
    what: 'uses of grants that wait to be written',
    file: 'src/grants/grant-usage.ts',
    bound: '50 000 grants, for `storage.usageFlushSeconds`',
  },
  { what: 'prepared statements of SQLite', file: 'src/store/sqlite.ts', bound: '500' },
  {
    what: 'names of prepared statements of PostgreSQL',
    file: 'src/store/postgres-query.ts',
    bound: '500',
  },
  {
    what: 'passwords that wait for a thread',
    file: 'src/people/password.ts',
    bound: '`signIn.waitingHashesMax`',
  },
  {
    what: 'answers that are under way, and connections',
    file: 'src/process/server.ts',
    bound:
      'a request arrives within 30 seconds, its headers within 15; an idle connection stays 65',
  },
]
