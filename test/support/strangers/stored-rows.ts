/** What unauthenticated callers can make the service store, for how long, and what bounds it. */

import type { Config, Integration, ServicePolicy } from '../../../src/config/config.ts'
import { STALE_MS, UNUSED_DOCUMENTS_MAX } from '../../../src/oauth/clients/document-clients.ts'
import { fetchBounds } from '../../../src/oauth/clients/fetch-governor.ts'
import { REFUSALS_PER_CLIENT } from '../../../src/pages/applications/refused-requests.ts'
import { unauthenticatedEvents } from '../../../src/platform/audit/audit-actions.ts'
import { KINDS_PER_MINUTE } from '../../../src/platform/audit/audit-trail.ts'
import { linkPages, pages, paths, planPaths } from '../../../src/platform/http/paths.ts'
import {
  type LimitName,
  limitsInForce,
  limitTable,
} from '../../../src/platform/limits/limit-table.ts'

export interface Kept {
  readonly what: string
  readonly at: readonly string[]
  readonly where: string
  /** The lifetime; undefined if a new row replaces the old one. */
  readonly seconds?: number
  /** The size of the largest row, with its keys and columns. */
  readonly bytesMax: number
  /** The bound on the number of rows, with its setting. */
  readonly bound: string
  readonly perNetworkMax?: number
  /** The number of rows that one address can add in an hour, if limited. */
  readonly perHourMax?: number
  /** The limit that counts the requests. Requests for all rows that name it count together. */
  readonly limit?: LimitName
  /** The largest size of a request that counts once; larger requests count several times. */
  readonly countedAsOneBytesMax?: number
}

/** Room for columns, keys and JSON around the sent values. `test/strangers.test.ts` checks that it is enough. */
const BESIDE_BYTES = 1200
/** Ten redirect URIs and ten post-logout URIs of 512 bytes, and a name of 100 characters. */
const REGISTERED_BYTES_MAX = 20 * 515 + 400
const DOCUMENT_BYTES_MAX = 5120
const URI_BYTES_MAX = 512
const AUDIT_EVENT_BYTES_MAX = 800
/** The maximum size in JSON of one kilobyte of a URL. A control character takes three bytes in a URL and six in JSON. */
const OF_ADDRESS_BYTES_MAX = 2 * 1024
/** The maximum size in JSON of one kilobyte of a form, in which a control character can take one byte. */
const OF_FORM_BYTES_MAX = 6 * 1024
const DAY_SECONDS = 86_400
const HOUR_SECONDS = 3600

/** Lists everything that unauthenticated callers can leave in the stores. */
export function keptForStrangers({
  service,
  integrations,
}: Pick<Config, 'service' | 'integrations'>): readonly Kept[] {
  return [
    ...requests(service),
    ...clients(service, integrations),
    {
      what: 'refusal that operators see',
      at: [paths.authorization, paths.token, paths.revocation, paths.introspection],
      where: 'database, `client_refusal`',
      bytesMax: 1000,
      bound: `last ${REFUSALS_PER_CLIENT} of each application of operators, ${REFUSALS_PER_CLIENT} kB`,
    },
    {
      what: 'time of the last write of a readiness check',
      at: [paths.ready],
      where: 'database, `setting`',
      bytesMax: 200,
      bound: 'one row, written every 5 s per process at most',
    },
    {
      what: 'audit event: failed sign-in, wrong code of a link, refused client, registration',
      at: [
        ...[pages.login, linkPages.recovery, paths.token, paths.revocation],
        ...[paths.introspection, paths.registration],
      ],
      where: 'database, `audit_event`',
      seconds: service.audit.keepDays * DAY_SECONDS,
      bytesMax: AUDIT_EVENT_BYTES_MAX,
      bound: auditBound(),
    },
    {
      what: 'used proof of a key (`furtherPlans.dpop`, `privateKeyJwt`)',
      at: [paths.token, paths.revocation, paths.introspection, planPaths.pushedAuthorization],
      where: 'OAuth state, `ReplayDetection`',
      seconds: DAY_SECONDS,
      bytesMax: 200,
      bound:
        'only proofs signed by the key of a client, or sent with a valid code or token, until they expire; `limits.requestsPerClientMax`, `limits.refreshesPerPersonMax`',
    },
    {
      what: 'counts of requests, if several processes count together',
      at: [pages.login, paths.registration],
      where: 'database, `request_count`, or Redis',
      seconds: service.signIn.failureWindowSeconds,
      // Enough for the key (which contains the caller's digest), two numbers and the entries in two indexes.
      bytesMax: 250,
      // Rows of an attempt, at most: the account with its network, with its wide network, by itself, and the reserve.
      ...counted(service, 'pagesOfAddress', 4),
    },
  ]
}

function auditBound(): string {
  const perMinute =
    // Each kind is written at its first event in a minute, and once more with the count.
    unauthenticatedEvents.size * (KINDS_PER_MINUTE.unauthenticated + 1) * 2
  const megabytes = (perMinute * 60 * AUDIT_EVENT_BYTES_MAX) / 1e6
  return `${perMinute} a minute per process in all, ${megabytes.toFixed(0)} MB an hour`
}

function requests(service: ServicePolicy): Kept[] {
  const { authorizationRequests: limits, lifetimes } = service
  const asked = counted(service, 'authorizations')
  const bound = `\`authorizationRequests.bytesMax\` each; ${asked.bound}`
  return [
    {
      what: 'authorization request until the person answers',
      at: [paths.authorization],
      where: 'OAuth state, `Interaction`',
      seconds: lifetimes.interactionSeconds,
      bytesMax: limits.bytesMax + BESIDE_BYTES,
      countedAsOneBytesMax: Math.min(limits.bytesMax, OF_ADDRESS_BYTES_MAX) + BESIDE_BYTES,
      ...{ ...asked, bound },
    },
    {
      what: 'pushed authorization request (`furtherPlans.pushedAuthorizationRequests`)',
      at: [planPaths.pushedAuthorization],
      where: 'OAuth state, `PushedAuthorizationRequest`',
      seconds: 60,
      bytesMax: pushedBytes(limits.bytesMax),
      countedAsOneBytesMax: pushedBytes(Math.min(limits.bytesMax, OF_FORM_BYTES_MAX)),
      ...{ ...asked, bound },
    },
    {
      what: 'sign-out request until it is confirmed',
      at: [paths.endSession],
      where: 'OAuth state, `Session`',
      seconds: lifetimes.interactionSeconds,
      bytesMax: limits.stateBytesMax + URI_BYTES_MAX + BESIDE_BYTES,
      countedAsOneBytesMax: OF_ADDRESS_BYTES_MAX + BESIDE_BYTES,
      ...{ ...asked, bound: `\`authorizationRequests.stateBytesMax\` each; ${asked.bound}` },
    },
  ]
}

/** The engine stores a pushed request as base64url in a JWT. */
const pushedBytes = (bytes: number): number => Math.ceil((bytes * 4) / 3) + BESIDE_BYTES

/** Returns the number of rows that a limit allows in an hour, and the limit's setting. */
function counted(service: ServicePolicy, name: LimitName, ofEach = 1) {
  const { max, windowSeconds } = limitsInForce(service)[name]
  const perHourMax = Math.floor((max * ofEach * HOUR_SECONDS) / windowSeconds)
  return { perHourMax, bound: `\`${limitTable[name].setting}\``, limit: name }
}

function clients(service: ServicePolicy, integrations: readonly Integration[]): Kept[] {
  const { registration, lifetimes, metadataDocuments } = service
  const { perHourMax: registrations } = counted(service, 'registrations')
  const platforms = integrations.filter((row) => row.redirect_patterns.length > 0).length
  const { refreshTokenAbsoluteSeconds, accessTokenSeconds } = lifetimes
  const hosts = metadataDocuments.openRegistration
    ? 'any host (`metadataDocuments.openRegistration`)'
    : `${metadataDocuments.sources.length} hosts or addresses (\`metadataDocuments.sources\`)`
  return [
    {
      what: 'self-registered client until it is authorized',
      at: [paths.registration],
      where: 'OAuth state, `Client`, and database, `unused_client`',
      seconds: registration.unusedClientSeconds,
      bytesMax: REGISTERED_BYTES_MAX + BESIDE_BYTES,
      bound:
        '`registration.unusedClientsPerNetworkMax` per network, the oldest are deleted; `registration.registrationsPerAddressMax`',
      perNetworkMax: registration.unusedClientsPerNetworkMax,
      perHourMax: registrations,
    },
    {
      what: 'callback admitted by the pattern of a platform, until a consent returns there',
      at: [paths.registration],
      where: 'database, `platform_callback`',
      seconds: registration.unusedCallbackSeconds,
      bytesMax: URI_BYTES_MAX + 200,
      bound: `\`registration.callbacksPerPlatformMax\` of each of the ${platforms} platforms with a pattern, the oldest unused are deleted`,
      perNetworkMax: registration.callbacksPerPlatformMax * platforms,
      perHourMax: registrations * 10,
    },
    {
      what: 'copy of a metadata document',
      at: [paths.authorization, planPaths.pushedAuthorization],
      where: 'database, `document_client`',
      seconds: STALE_MS / 1000 + refreshTokenAbsoluteSeconds + accessTokenSeconds,
      bytesMax: DOCUMENT_BYTES_MAX + BESIDE_BYTES,
      bound: `documents of ${hosts} only; a process fetches ${fetchBounds.perMinuteMax} a minute without a grant, ${fetchBounds.perMinuteAndHostMax} of one host, and as many with a grant; ${UNUSED_DOCUMENTS_MAX} without a grant in all, the oldest are deleted`,
      perNetworkMax: UNUSED_DOCUMENTS_MAX,
      perHourMax: fetchBounds.perMinuteAndHostMax * 60,
    },
  ]
}

/** Returns the bytes that one network can have in the stores at a time, if bounded. */
export function keptOfNetwork({ perNetworkMax, seconds, ...kept }: Kept): number | undefined {
  const byRate = ((keptInAnHour(kept) ?? Infinity) * (seconds ?? Infinity)) / HOUR_SECONDS
  const most = Math.min((perNetworkMax ?? Infinity) * kept.bytesMax, byRate)
  return most === Infinity ? undefined : Math.ceil(most)
}

/** Returns the bytes that one address can add to the stores in an hour, if bounded. */
export function keptInAnHour(kept: Kept): number | undefined {
  const { bytesMax, countedAsOneBytesMax = bytesMax, perHourMax, perNetworkMax } = kept
  if (perHourMax === undefined) return undefined
  return Math.min(perHourMax, perNetworkMax ?? perHourMax) * countedAsOneBytesMax
}
