/** What anybody can make this service keep, for how long, and what bounds it. What keeps it is elsewhere. */

import type { Integration, ServicePolicy } from '../../../src/config/config.ts'
import { STALE_MS, UNUSED_DOCUMENTS_MAX } from '../../../src/oauth/clients/document-clients.ts'
import { fetchBounds } from '../../../src/oauth/clients/fetch-governor.ts'
import { REFUSALS_PER_CLIENT } from '../../../src/pages/applications/client-refusals.ts'
import { unauthenticatedEvents } from '../../../src/platform/audit/audit-actions.ts'
import { KINDS_PER_MINUTE } from '../../../src/platform/audit/audit-trail.ts'
import { pages, paths, planPaths } from '../../../src/platform/http/paths.ts'
import {
  type LimitName,
  limitsInForce,
  limitTable,
} from '../../../src/platform/limits/limit-table.ts'

/** The configuration in force, of which every figure below is made. */
export interface InForce {
  readonly service: ServicePolicy
  readonly integrations: readonly Integration[]
}

export interface Kept {
  readonly what: string
  /** Addresses of `platform/http/paths.ts` at which somebody who is not signed in leaves it. */
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
  /** By which limit, where that is one for several of these together. */
  readonly limit?: LimitName
  /** The largest that is counted as one, where a larger one counts as several. */
  readonly countedAsOneBytesMax?: number
}

/** Columns, keys and JSON around what was sent; `test/strangers.test.ts` measures that it is enough. */
const BESIDE_BYTES = 1200
/** Ten redirect addresses and ten for after a sign-out, of 512 bytes, and a name of 100 characters. */
const REGISTERED_BYTES_MAX = 20 * 515 + 400
const DOCUMENT_BYTES_MAX = 5120
const URI_BYTES_MAX = 512
const REDIRECT_URIS_MAX = 10
const REFUSAL_BYTES_MAX = 1000
const AUDIT_EVENT_BYTES_MAX = 800
/** A kind is told when it is first seen in a minute, and once more with how often it came. */
const EVENTS_PER_KIND = 2
const PUSHED_SECONDS = 60
/** What a kilobyte of an address becomes as JSON: three characters of it can be a control character, of six bytes. */
const OF_ADDRESS_BYTES_MAX = 2 * 1024
/** The same of a form, where one byte can be a control character. */
const OF_FORM_BYTES_MAX = 6 * 1024
/** A key, which has the digest of who is counted, two numbers, and both in an index. */
const COUNT_BYTES_MAX = 250
/** An attempt is counted by pair, by wide network, by account, and among those that are reserved. */
const COUNTS_OF_ATTEMPT = 4
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
      bound: `the last ${REFUSALS_PER_CLIENT} of each application that operators entered, ${(REFUSALS_PER_CLIENT * REFUSAL_BYTES_MAX) / 1000} kB`,
    },
    {
      what: 'an event of the audit trail: a failed sign-in, a client that was refused, a registration',
      at: [pages.login, paths.token, paths.revocation, paths.introspection, paths.registration],
      where: 'database, `audit_event`',
      seconds: service.audit.keepDays * DAY_SECONDS,
      bytesMax: AUDIT_EVENT_BYTES_MAX,
      bound: auditBound(),
    },
    {
      what: 'that a proof of a key was used (`furtherPlans.dpop`, `privateKeyJwt`)',
      at: [paths.token, paths.revocation, paths.introspection, planPaths.pushedAuthorization],
      where: 'OAuth state, `ReplayDetection`',
      seconds: DAY_SECONDS,
      bytesMax: 200,
      bound:
        'only what was signed by the key of a client, or with a good code or token, and as long as it would be accepted; `limits.requestsPerClientMax`, `limits.refreshesPerPersonMax`',
    },
    {
      what: 'what was counted, where several processes count together',
      at: [pages.login, paths.registration],
      where: 'database, `request_count`, or Redis',
      seconds: service.signIn.failureWindowSeconds,
      bytesMax: COUNT_BYTES_MAX,
      ...counted(service, 'pagesOfAddress', COUNTS_OF_ATTEMPT),
    },
  ]
}

function auditBound(): string {
  const perMinute =
    unauthenticatedEvents.size * (KINDS_PER_MINUTE.unauthenticated + 1) * EVENTS_PER_KIND
  const megabytes = (perMinute * 60 * AUDIT_EVENT_BYTES_MAX) / 1e6
  return `${perMinute} a minute of each process, whoever causes them, ${megabytes.toFixed(0)} MB an hour`
}

function requests(service: ServicePolicy): Kept[] {
  const { authorizationRequests: limits, lifetimes } = service
  const asked = counted(service, 'authorizations')
  const bound = `\`authorizationRequests.bytesMax\` each; ${asked.bound}`
  return [
    {
      what: 'an authorization request, while the person has not answered',
      at: [paths.authorization],
      where: 'OAuth state, `Interaction`',
      seconds: lifetimes.interactionSeconds,
      bytesMax: limits.bytesMax + BESIDE_BYTES,
      countedAsOneBytesMax: Math.min(limits.bytesMax, OF_ADDRESS_BYTES_MAX) + BESIDE_BYTES,
      ...{ ...asked, bound },
    },
    {
      what: 'a pushed authorization request (`furtherPlans.pushedAuthorizationRequests`)',
      at: [planPaths.pushedAuthorization],
      where: 'OAuth state, `PushedAuthorizationRequest`',
      seconds: PUSHED_SECONDS,
      bytesMax: pushedBytes(limits.bytesMax),
      countedAsOneBytesMax: pushedBytes(Math.min(limits.bytesMax, OF_FORM_BYTES_MAX)),
      ...{ ...asked, bound },
    },
    {
      what: 'a request to sign out, while it is not confirmed',
      at: [paths.endSession],
      where: 'OAuth state, `Session`',
      seconds: lifetimes.interactionSeconds,
      bytesMax: limits.stateBytesMax + URI_BYTES_MAX + BESIDE_BYTES,
      countedAsOneBytesMax: OF_ADDRESS_BYTES_MAX + BESIDE_BYTES,
      ...{ ...asked, bound: `\`authorizationRequests.stateBytesMax\` each; ${asked.bound}` },
    },
  ]
}

/** As the engine keeps it: as base64url, in a JWT. */
function pushedBytes(bytes: number): number {
  return Math.ceil((bytes * 4) / 3) + BESIDE_BYTES
}

/** How many a limit lets through in an hour that does not end with its window, and what it is called. */
function counted(
  service: ServicePolicy,
  name: LimitName,
  ofEach = 1,
): Pick<Kept, 'bound' | 'limit'> & { readonly perHourMax: number } {
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
      bound: `documents of ${hosts} only; a process fetches ${fetchBounds.perMinuteMax} a minute that no grant relies on, ${fetchBounds.perMinuteAndHostMax} of one host, and as many that one does; ${UNUSED_DOCUMENTS_MAX} in all with which nobody allowed anything, the oldest give way`,
      perNetworkMax: UNUSED_DOCUMENTS_MAX,
      perHourMax: fetchBounds.perMinuteAndHostMax * 60,
    },
  ]
}

/** What one network can have in the stores at a time, where that is bounded; in bytes. */
export function keptOfNetwork({ perNetworkMax, seconds, ...kept }: Kept): number | undefined {
  const ofNumber = perNetworkMax === undefined ? [] : [perNetworkMax * kept.bytesMax]
  const inAnHour = keptInAnHour(kept)
  const byRate =
    inAnHour === undefined || seconds === undefined ? [] : [(inAnHour * seconds) / HOUR_SECONDS]
  const most = Math.min(...ofNumber, ...byRate)
  return most === Infinity ? undefined : Math.ceil(most)
}

/** What one address can add to the stores in an hour, where that is bounded; in bytes. */
export function keptInAnHour({
  bytesMax,
  countedAsOneBytesMax = bytesMax,
  perHourMax,
  perNetworkMax,
}: Kept): number | undefined {
  if (perHourMax === undefined) return undefined
  return Math.min(perHourMax, perNetworkMax ?? perHourMax) * countedAsOneBytesMax
}
