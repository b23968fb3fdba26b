import { z } from 'zod'

import { findScope, type ScopeAccess } from '../directory/scopes/catalogue.ts'
import { readDocumentAddress } from '../platform/http/client-addresses.ts'
import { isLoopbackUrl, loopbackHosts } from '../platform/http/loopback.ts'
import { keySet } from '../platform/http/public-keys.ts'
import { isMailDomain } from '../platform/store/mail-address.ts'

const DAY_SECONDS = 86_400

const seconds = (max: number) => z.int().min(1).max(max)

const perWindow = (usual: number) => z.int().min(1).max(1_000_000_000).default(usual)

/** Limits on requests (platform/limits/limit-table.ts) and invitations. The defaults match config/service.json. */
const requestLimits = z
  .strictObject({
    windowSeconds: seconds(3600).default(60),
    authorizationKilobytesPerAddressMax: perWindow(2000),
    oauthFailurePointsPerAddressMax: perWindow(3000),
    tokenFailurePointsPerAddressMax: perWindow(6000),
    verificationPointsPerAddressMax: perWindow(60_000),
    pagesPerAddressMax: perWindow(12_000),
    downloadsPerAddressMax: perWindow(6000),
    requestsPerClientMax: perWindow(120_000),
    unknownTokensPerClientMax: perWindow(1200),
    guardedRequestsPerClientMax: perWindow(600_000),
    refreshesPerPersonMax: perWindow(600),
    userinfoPerPersonMax: perWindow(1200),
    memberApiCostPerPersonMax: perWindow(600_000),
    adminApiCostPerPersonMax: perWindow(1_200_000),
    changesPerPersonMax: perWindow(1200),
    uploadsPerPersonMax: perWindow(600),
    forwardedRequestsPerPersonMax: perWindow(6000),
    platformRecordsMax: perWindow(120_000),
    pagesPerPersonMax: perWindow(1200),
    invitationsPerSiteAndDayMax: z.int().min(1).max(100_000).default(200),
  })
  .prefault({})

/** The platform endpoint that checks passwords of people without a stored hash (directory/people/password-hook.ts). */
const passwordCheck = z.strictObject({
  url: z.url({ protocol: /^https$/, error: 'must be an https URL' }).max(500),
  timeoutMs: z.int().min(100).max(10_000),
})

const claimName = (name: string) => z.string().min(1).max(100).default(name)

/** An identity provider of the platform (directory/people/identity-providers.ts). */
const identityProvider = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 characters of a–z, 0–9 and -'),
  name: z.string().min(1).max(60),
  issuer: z.url({ protocol: /^https$/, error: 'must be an https URL' }).max(500),
  clientId: z.string().min(1).max(200),
  claims: z
    .strictObject({
      email: claimName('email'),
      emailVerified: claimName('email_verified'),
      name: claimName('name'),
    })
    .prefault({}),
  // People whose e-mail address has one of these domains sign in with this provider.
  domains: z.array(z.string().refine(isMailDomain, 'must be a domain name')).max(100).default([]),
})

/** Limits on sign-in attempts (directory/people/attempt-limits.ts), recoveries and sign-ups, and related durations. */
const signInLimits = {
  failuresPerAccountAndAddressMax: z.int().min(1).max(1000),
  failuresPerAccountMax: z.int().min(1).max(100_000),
  failuresPerAddressMax: z.int().min(1).max(100_000),
  // Attempts that remain once attackers have exhausted an account's limit: per IPv4 /24 or IPv6 /48, and in total.
  reservedAttemptsPerNetworkMax: z.int().min(1).max(100).default(2),
  reservedAttemptsPerAccountMax: z.int().min(1).max(100_000).default(100),
  failuresPerKnownBrowserMax: z.int().min(1).max(1000).default(10),
  wrongCodesPerPersonMax: z.int().min(1).max(100).default(5),
  lockMailsPerPersonMax: z.int().min(1).max(100).default(1),
  // Successful sign-ins are limited, too, because each one costs CPU time.
  signInsPerAccountMax: z.int().min(1).max(1_000_000).default(300),
  recoveriesPerAddressMax: z.int().min(1).max(100_000).default(100),
  recoveriesPerAccountMax: z.int().min(1).max(1000).default(3),
  signUpsPerAddressMax: z.int().min(1).max(100_000).default(100),
  signUpsPerAccountMax: z.int().min(1).max(1000).default(3),
  failureWindowSeconds: seconds(DAY_SECONDS),
  // How long the service recognizes a browser after its last sign-in.
  knownBrowserSeconds: seconds(400 * DAY_SECONDS).default(90 * DAY_SECONDS),
  // How long a sign-in counts as recent, for pages that require a fresh sign-in, for example to show a secret.
  freshSeconds: z.int().min(60).max(DAY_SECONDS).default(600),
}

/** Limits on GraphQL requests, and on the cache of GraphQL documents. */
const apiLimits = z.strictObject({
  bodyBytesMax: z.int().min(1000).max(1_000_000),
  documentTokensMax: z.int().min(500).max(10_000),
  depthMax: z.int().min(6).max(20),
  nestingMax: z.int().min(20).max(200),
  fieldsMax: z.int().min(100).max(1000),
  aliasesMax: z.int().min(1).max(100),
  directivesMax: z.int().min(1).max(100),
  costMax: z.int().min(1000).max(100_000),
  // Limits on the cache of validated documents. A document takes about 120 bytes of memory per character.
  cachedDocumentsMax: z.int().min(1).max(10_000),
  cachedDocumentCharactersMax: z.int().min(1).max(20_000),
  cachedCharactersMax: z.int().min(1).max(10_000_000),
})

/** A host as in URLs: with its port, unless the port is 443. */
const host = z
  .string()
  .refine((value) => URL.parse(`https://${value}/`)?.host === value, 'must be a host or host:port')

/**
 * Switches for optional standards, all off by default. `privateHosts` lists hosts with private addresses that the
 * service may contact for these standards.
 */
export const furtherPlans = z
  .strictObject({
    backChannelLogout: z.boolean().default(false),
    pushedAuthorizationRequests: z.boolean().default(false),
    dpop: z.boolean().default(false),
    privateKeyJwt: z.boolean().default(false),
    privateHosts: z.array(host).max(100).default([]),
  })
  .prefault({})

/** An origin as in the Origin header: scheme, host and port, without a trailing slash. */
const browserOrigin = z
  .string()
  .refine(
    (value) => URL.parse(value)?.origin === value,
    'must be an origin like https://app.example',
  )

const SEGMENTS = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/

/** An absolute URI (RFC 3986 §4.3). */
const ABSOLUTE_URI = /^[a-z][a-z0-9+.-]*:[!-"$-~]+$/

const operatorScopeName = (access: ScopeAccess) =>
  z.string().refine((name) => {
    const scope = findScope(name)
    return scope?.audience === 'operator' && scope.access === access
  }, `must be the name of an operator scope with ${access} access, such as courses:${access}`)

const upstream = z
  .strictObject({
    /** The path below /admin/api/. */
    path: z.string().max(200).regex(SEGMENTS, 'must be a path like "coupons" or "shop/coupons"'),
    /** The scopes required for reading (GET, HEAD) and for other methods. Methods without a scope are disabled. */
    readScope: operatorScopeName('read').optional(),
    writeScope: operatorScopeName('write').optional(),
    /** The URL that replaces {base_url}/admin/api/{path}. */
    address: z
      .string()
      .refine(
        isUpstreamAddress,
        'must be an https URL, or an http URL with a loopback host, without a trailing slash, query or fragment',
      ),
    audience: z
      .string()
      .max(500)
      .refine(
        (uri) => ABSOLUTE_URI.test(uri) && URL.canParse(uri),
        'must be an absolute URI without a fragment',
      ),
    answerWithinSeconds: z.int().min(1).max(300).default(15),
    bodyBytesMax: z.int().min(1).max(1_073_741_824).default(1_048_576),
  })
  .refine(
    ({ readScope, writeScope }) => readScope !== undefined || writeScope !== undefined,
    'must have a readScope, a writeScope or both',
  )

/** The platform APIs below /admin/api/, whose paths must not overlap. */
const upstreams = z
  .array(upstream)
  .max(100)
  .superRefine((rows, context) => {
    for (const [position, { path }] of rows.entries()) {
      const other = rows.slice(0, position).find((row) => overlap(row.path, path))
      if (!other) continue
      const message = `${path} overlaps with ${other.path}; use separate paths`
      context.addIssue({ code: 'custom', path: [position, 'path'], message })
    }
  })

/** The format of `config/service.json`. */
export const servicePolicy = z.strictObject({
  name: z.string().min(1).max(60),
  lifetimes: z.strictObject({
    authorizationCodeSeconds: seconds(600),
    accessTokenSeconds: seconds(DAY_SECONDS),
    // The specification prescribes this value.
    idTokenSeconds: z.literal(600),
    // How long a refresh token stays valid if it is not used.
    refreshTokenSeconds: seconds(400 * DAY_SECONDS),
    // The maximum lifetime of a family of refresh tokens, unless an operator application waives it (design 40).
    refreshTokenAbsoluteSeconds: seconds(400 * DAY_SECONDS),
    // How long a refresh with a replaced token still gets the same response.
    refreshRetrySeconds: seconds(60),
    // The maximum lifetime of a browser session, and the maximum time between two uses of it.
    sessionSeconds: seconds(400 * DAY_SECONDS),
    sessionIdleSeconds: seconds(400 * DAY_SECONDS),
    interactionSeconds: seconds(DAY_SECONDS),
    // The period during which a person can cancel the deletion of their account by signing in.
    accountDeletionSeconds: seconds(90 * DAY_SECONDS).default(7 * DAY_SECONDS),
    // The lifetime of sessions on /admin and /account. During a browser session, they are renewed without a prompt.
    pageSessionSeconds: seconds(30 * DAY_SECONDS),
  }),
  /** The length limits of authorization requests, which are stored even for unauthenticated callers. */
  authorizationRequests: z
    .strictObject({
      stateBytesMax: z.int().min(512).max(12_000),
      bytesMax: z.int().min(2048).max(14_000),
    })
    .default({ stateBytesMax: 4096, bytesMax: 8192 }),
  keys: z.strictObject({
    // How long the next key must have been published before it may sign, except with `rotate --force`.
    publishLeadSeconds: seconds(DAY_SECONDS),
    // How long a retired key stays published.
    retiredKeepSeconds: z.int().min(600).max(DAY_SECONDS),
    reloadSeconds: seconds(300),
  }),
  documents: z.strictObject({ cacheSeconds: seconds(DAY_SECONDS) }),
  signIn: z.strictObject({
    // Defaults to the number of CPU cores minus one, at least 1. A hash uses 19 MiB; an imported hash may need 256 MiB.
    parallelHashesMax: z.int().min(1).max(64).optional(),
    // NIST SP 800-63B-4 requires 15 for a password that is the only factor.
    passwordCharactersMin: z.int().min(8).max(64).default(15),
    waitingHashesMax: z.int().min(1).max(1000),
    passwordCheck: passwordCheck.nullable().default(null),
    identityProviders: z.array(identityProvider).max(20).default([]),
    ...signInLimits,
    // Whether people get mail about sign-ins in new browsers and about new apps.
    notices: z.boolean().default(true),
  }),
  storage: z.strictObject({
    answerWithinMs: z.int().min(50).max(450),
    sweepSeconds: seconds(3600),
    // How often buffered audit events, refusals and counts of calls are written to the database.
    usageFlushSeconds: seconds(60),
    // How often one process on each host looks for ended sessions, to queue sign-out notices to applications.
    signOutLookMs: z.int().min(50).max(60_000).default(2000),
    // How often one process on each host looks for messages to send.
    outboxLookMs: z.int().min(50).max(60_000).default(1000),
    databaseConnectionsMax: z.int().min(1).max(100),
  }),
  /** Limits on mail per `windowSeconds`. Notices are messages about sign-ins in new browsers and about new apps. */
  mail: z
    .strictObject({
      messagesPerAddressMax: z.int().min(1).max(1000).default(10),
      noticesPerAddressMax: z.int().min(1).max(1000).default(4),
      signUpsPerSiteMax: z.int().min(1).max(1_000_000).default(1000),
      windowSeconds: seconds(30 * DAY_SECONDS).default(DAY_SECONDS),
    })
    .prefault({}),
  /** How long audit events are kept, and which part of a client IP address they contain. */
  audit: z
    .strictObject({
      // Webhook deliveries are retried for three days, and each attempt reads the event from the audit trail.
      keepDays: z.int().min(4).max(4000),
      addresses: z.enum(['full', 'network', 'none']),
    })
    .default({ keepDays: 400, addresses: 'network' }),
  posts: z.strictObject({
    // How often one process on each host checks for undelivered announcements.
    deliverySeconds: seconds(600),
  }),
  limits: requestLimits,
  memberApi: apiLimits,
  adminApi: apiLimits,
  upstreams: upstreams.default([]),
  // The public keys that verify the platform's requests to write records (ops/import/records-route.ts).
  platformKeys: keySet.nullable().default(null),
  files: z.strictObject({
    // The API returns file sizes as a GraphQL Int, whose maximum is 2^31 − 1.
    fileBytesMax: z.int().min(1000).max(2_147_483_647),
    siteFilesMax: z.int().min(1).max(100_000),
    siteBytesMax: z.int().min(1000),
    // The server closes a connection if a request takes more than 30 s to arrive (platform/process/server.ts).
    uploadSeconds: seconds(28),
    downloadSeconds: seconds(DAY_SECONDS),
  }),
  mcp: z.strictObject({
    // Used only with a loopback BASE_URL, in addition to loopback origins. `*` allows all origins.
    allowedOrigins: z.array(z.union([z.literal('*'), browserOrigin])),
    bodyBytesMax: z.int().min(1000).max(4_000_000),
    requestsPerAddressMax: z.int().min(1).max(1_000_000),
    requestsPerCallerMax: z.int().min(1).max(1_000_000),
    windowSeconds: seconds(3600),
    structuredResults: z.boolean().default(false),
  }),
  registration: z.strictObject({
    registrationsPerAddressMax: z.int().min(1).max(100_000),
    registrationWindowSeconds: seconds(DAY_SECONDS),
    idleClientSeconds: seconds(400 * DAY_SECONDS),
    // How long a self-registered client is kept if no person has consented to it.
    unusedClientSeconds: seconds(30 * DAY_SECONDS).default(DAY_SECONDS),
    unusedClientsPerNetworkMax: z.int().min(1).max(100_000).default(200),
    // The maximum number of stored callbacks per platform. Each callback matches a pattern of the platform.
    callbacksPerPlatformMax: z.int().min(1).max(1_000_000),
    // How long a callback is kept if no person authorizes a connection with it.
    unusedCallbackSeconds: seconds(30 * DAY_SECONDS),
    idleCallbackSeconds: seconds(800 * DAY_SECONDS),
  }),
  loopbackHosts: z.array(z.enum(loopbackHosts)).min(1),
  furtherPlans,
  metadataDocuments: z.strictObject({
    /** Hosts whose documents are all allowed, and URLs of single documents. */
    sources: z.array(
      z.hostname().or(z.string().refine(readDocumentAddress, 'must be a host or a canonical URL')),
    ),
    openRegistration: z.boolean(),
  }),
})

/**
 * Returns the problems of upstream audiences. A client whose id equals an audience could accept a token for that
 * audience as an id_token. So an audience must not be a configured client_id, or a possible URL of a metadata
 * document, even on a host that the configuration does not allow. Nor may it be the issuer, our own audience.
 */
export function problemsOfAudiences(
  rows: readonly { readonly audience: string }[],
  { baseUrl, clientIds }: { readonly baseUrl: string; readonly clientIds: readonly string[] },
): string[] {
  return rows.flatMap(({ audience }, position) => {
    const name = `service.json: upstreams.${position}.audience`
    if (canonical(audience) === canonical(baseUrl)) return [`${name}: must differ from BASE_URL`]
    if (clientIds.includes(audience)) return [`${name}: must not be a client_id`]
    return readDocumentAddress(audience)
      ? [`${name}: must not look like a metadata document's URL; use a urn: URI or omit the path`]
      : []
  })
}

/** Returns the problems of identity providers: a repeated id or, if `secrets` are known, a missing client secret. */
export function problemsOfProviders(
  rows: readonly { readonly id: string }[],
  secrets: Readonly<Record<string, string>> | undefined,
): string[] {
  return rows.flatMap(({ id }, position) => {
    const name = `service.json: signIn.identityProviders.${position}`
    if (rows.findIndex((row) => row.id === id) < position) return [`${name}.id: must be unique`]
    if (!secrets || secrets[id]) return []
    return [`${name}: has no secret; add ${id}=<client secret> to IDENTITY_PROVIDER_SECRETS`]
  })
}

function isUpstreamAddress(address: string): boolean {
  const url = URL.parse(address)
  if (!url || url.origin + url.pathname.replace(/\/$/, '') !== address) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(address))
}

function canonical(uri: string): string {
  return new URL(uri).href.replace(/\/+$/, '')
}

function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
}
