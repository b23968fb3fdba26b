import { z } from 'zod'

import { findScope, type ScopeAccess } from '../directory/scopes/catalogue.ts'
import { readDocumentAddress } from '../platform/http/client-addresses.ts'
import { isLoopbackUrl, loopbackHosts } from '../platform/http/loopback.ts'

const DAY_SECONDS = 86_400

/** A whole number of seconds, one at least. */
const seconds = (max: number) => z.int().min(1).max(max)

/** How often something may happen in one window. */
const perWindow = (usual: number) => z.int().min(1).max(1_000_000_000).default(usual)

/** Limits of requests (platform/limits/limit-table.ts says what each counts); the defaults are those of config/. */
const requestLimits = z
  .strictObject({
    windowSeconds: seconds(3600).default(60),
    authorizationKilobytesPerAddressMax: perWindow(2000),
    oauthFailurePointsPerAddressMax: perWindow(3000),
    tokenFailurePointsPerAddressMax: perWindow(6000),
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
    pagesPerPersonMax: perWindow(1200),
  })
  .prefault({})

/** Limits of sign-in attempts (directory/people/attempt-limits.ts). */
const signInLimits = {
  failuresPerAccountAndAddressMax: z.int().min(1).max(1000),
  failuresPerAccountMax: z.int().min(1).max(100_000),
  failuresPerAddressMax: z.int().min(1).max(100_000),
  // When strangers have used up the attempts of an account: of one wide network, and of all.
  reservedAttemptsPerNetworkMax: z.int().min(1).max(100).default(2),
  reservedAttemptsPerAccountMax: z.int().min(1).max(100_000).default(100),
  failuresPerKnownBrowserMax: z.int().min(1).max(1000).default(10),
  // With the right password; each takes its time of a processor.
  signInsPerAccountMax: z.int().min(1).max(1_000_000).default(300),
  failureWindowSeconds: seconds(DAY_SECONDS),
  // A browser is known for so long after its last sign-in.
  knownBrowserSeconds: seconds(400 * DAY_SECONDS).default(90 * DAY_SECONDS),
}

/** How large a document of a GraphQL API may be. */
const apiLimits = z.strictObject({
  bodyBytesMax: z.int().min(1000).max(1_000_000),
  documentTokensMax: z.int().min(500).max(10_000),
  depthMax: z.int().min(6).max(20),
  nestingMax: z.int().min(20).max(200),
  fieldsMax: z.int().min(100).max(1000),
  aliasesMax: z.int().min(1).max(100),
  directivesMax: z.int().min(1).max(100),
  costMax: z.int().min(1000).max(100_000),
  cachedDocumentsMax: z.int().min(1).max(10_000),
  cachedDocumentCharactersMax: z.int().min(1).max(20_000),
  cachedCharactersMax: z.int().min(1).max(10_000_000),
})

/** A host as a URL has it, with its port where that is another than 443. */
const host = z
  .string()
  .refine((value) => URL.parse(`https://${value}/`)?.host === value, 'must be a host or host:port')

/** The optional standards that are on (oauth/clients/further-plans.ts); none where it is left out. */
export const furtherPlans = z
  .strictObject({
    backChannelLogout: z.boolean().default(false),
    pushedAuthorizationRequests: z.boolean().default(false),
    dpop: z.boolean().default(false),
    privateKeyJwt: z.boolean().default(false),
    privateHosts: z.array(host).max(100).default([]),
  })
  .prefault({})

/** As the Origin header spells it: scheme, host and port, no slash behind. */
const browserOrigin = z
  .string()
  .refine(
    (value) => URL.parse(value)?.origin === value,
    'must be an origin like https://app.example',
  )

const SEGMENTS = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/

const operatorScope = (access: ScopeAccess) =>
  z.string().refine((name) => {
    const scope = findScope(name)
    return scope?.audience === 'operator' && scope.access === access
  }, `must be a scope of the catalogue by which an operator's client may ${access}`)

const upstream = z
  .strictObject({
    /** What follows /admin/api/. */
    path: z.string().max(200).regex(SEGMENTS, 'must be a path like coupons or shop/coupons'),
    readScope: operatorScope('read').optional(),
    writeScope: operatorScope('write').optional(),
    /** What stands in place of {base_url}/admin/api/{path}. */
    address: z
      .string()
      .refine(
        isUpstreamAddress,
        'must be an https address, or http on this machine, without a slash at its end, query and fragment',
      ),
    audience: z.string().refine(isAudience, 'must be an absolute URI without a fragment'),
    answerWithinSeconds: z.int().min(1).max(300).default(15),
    bodyBytesMax: z.int().min(1).max(1_073_741_824).default(1_048_576),
  })
  .refine(
    ({ readScope, writeScope }) => readScope !== undefined || writeScope !== undefined,
    'needs a readScope, a writeScope or both',
  )

/** The rows of `upstreams` in service.json. */
const upstreams = z
  .array(upstream)
  .max(100)
  .superRefine((rows, context) => {
    for (const [position, { path }] of rows.entries()) {
      const other = rows.slice(0, position).find((row) => overlap(row.path, path))
      if (!other) continue
      const message = `${path} overlaps with ${other.path}`
      context.addIssue({ code: 'custom', path: [position, 'path'], message })
    }
  })

/** The form of `config/service.json`. */
export const servicePolicy = z.strictObject({
  name: z.string().min(1).max(60),
  /** How long what the service issues lives. */
  lifetimes: z.strictObject({
    authorizationCodeSeconds: seconds(600),
    accessTokenSeconds: seconds(DAY_SECONDS),
    // The specification names this one: the id_token lives 10 minutes.
    idTokenSeconds: z.literal(600),
    // When it is not used; every use starts it again.
    refreshTokenSeconds: seconds(400 * DAY_SECONDS),
    // A chain of refresh tokens in all, however often it is used.
    refreshTokenAbsoluteSeconds: seconds(400 * DAY_SECONDS),
    // So long a repeated refresh of the same token gets the same answer.
    refreshRetrySeconds: seconds(60),
    sessionSeconds: seconds(400 * DAY_SECONDS),
    interactionSeconds: seconds(DAY_SECONDS),
    // Of /admin and /account; when it is over, the browser session signs in again unseen.
    pageSessionSeconds: seconds(30 * DAY_SECONDS),
  }),
  /** How long an authorization request may be. Unauthenticated callers send it and this service keeps it. */
  authorizationRequests: z
    .strictObject({
      stateBytesMax: z.int().min(512).max(12_000),
      bytesMax: z.int().min(2048).max(14_000),
    })
    .default({ stateBytesMax: 4096, bytesMax: 8192 }),
  keys: z.strictObject({
    publishLeadSeconds: seconds(DAY_SECONDS),
    retiredKeepSeconds: z.int().min(600).max(DAY_SECONDS),
    reloadSeconds: seconds(300),
  }),
  documents: z.strictObject({ cacheSeconds: seconds(DAY_SECONDS) }),
  signIn: z.strictObject({
    // One less than there are cores, when it is left out; each takes 19 MiB while it runs.
    parallelHashesMax: z.int().min(1).max(64).optional(),
    waitingHashesMax: z.int().min(1).max(1000),
    ...signInLimits,
  }),
  storage: z.strictObject({
    answerWithinMs: z.int().min(50).max(450),
    sweepSeconds: seconds(3600),
    // How often counted calls and refusals are written down.
    usageFlushSeconds: seconds(60),
    // How often one process looks for sign-ins that are over, and for notices that are due.
    signOutLookMs: z.int().min(50).max(60_000).default(2000),
    databaseConnectionsMax: z.int().min(1).max(100),
  }),
  /** What the audit trail keeps, and for how long. */
  audit: z
    .strictObject({
      keepDays: z.int().min(1).max(4000),
      addresses: z.enum(['full', 'network', 'none']),
    })
    .default({ keepDays: 400, addresses: 'network' }),
  posts: z.strictObject({
    // How often a process looks for announcements that not every subscriber has.
    deliverySeconds: seconds(600),
  }),
  limits: requestLimits,
  memberApi: apiLimits,
  adminApi: apiLimits,
  /** What the platform serves itself, below /admin/api/. */
  upstreams: upstreams.default([]),
  /** What operators upload. */
  files: z.strictObject({
    // GraphQL has whole numbers up to 2^31.
    fileBytesMax: z.int().min(1000).max(2_147_483_647),
    siteFilesMax: z.int().min(1).max(100_000),
    siteBytesMax: z.int().min(1000),
    // A connection is cut after thirty seconds without a whole request (platform/process/server.ts).
    uploadSeconds: seconds(28),
    downloadSeconds: seconds(DAY_SECONDS),
  }),
  mcp: z.strictObject({
    // Origins of browser clients; `*` admits all. Loopback ones need no row on a loopback address.
    allowedOrigins: z.array(z.union([z.literal('*'), browserOrigin])),
    bodyBytesMax: z.int().min(1000).max(4_000_000),
    requestsPerAddressMax: z.int().min(1).max(1_000_000),
    requestsPerCallerMax: z.int().min(1).max(1_000_000),
    windowSeconds: seconds(3600),
  }),
  registration: z.strictObject({
    registrationsPerAddressMax: z.int().min(1).max(100_000),
    registrationWindowSeconds: seconds(DAY_SECONDS),
    idleClientSeconds: seconds(400 * DAY_SECONDS),
    // Self-registered clients without a grant.
    unusedClientSeconds: seconds(30 * DAY_SECONDS).default(DAY_SECONDS),
    unusedClientsPerNetworkMax: z.int().min(1).max(100_000).default(200),
    // Callbacks that a pattern of integrations.json admitted, of each platform.
    callbacksPerPlatformMax: z.int().min(1).max(1_000_000),
    // A client without a grant.
    unusedCallbackSeconds: seconds(30 * DAY_SECONDS),
    idleCallbackSeconds: seconds(800 * DAY_SECONDS),
  }),
  loopbackHosts: z.array(z.enum(loopbackHosts)).min(1),
  furtherPlans,
  metadataDocuments: z.strictObject({
    hosts: z.array(z.hostname()),
    openRegistration: z.boolean(),
  }),
})

/**
 * What is wrong with the audiences of upstreams beside everything else. A signed token for one of them
 * would be an id_token for a client of that name, so that nothing that could be a client_id is admitted:
 * no issuer, no listed client, and no address at which a client could describe itself, whichever hosts
 * the configuration admits today.
 */
export function problemsOfAudiences(
  rows: readonly { readonly audience: string }[],
  { baseUrl, clientIds }: { readonly baseUrl: string; readonly clientIds: readonly string[] },
): string[] {
  return rows.flatMap(({ audience }, position) => {
    const name = `service.json: upstreams.${position}.audience`
    if (spelledOnce(audience) === spelledOnce(baseUrl)) return [`${name}: is the issuer`]
    if (clientIds.includes(audience)) return [`${name}: is a client_id`]
    return readDocumentAddress(audience)
      ? [`${name}: could be the client_id of a metadata document; use a urn: or leave its path out`]
      : []
  })
}

function isUpstreamAddress(address: string): boolean {
  const url = URL.parse(address)
  if (!url || url.origin + url.pathname.replace(/\/$/, '') !== address) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(address))
}

/** RFC 3986 §4.3. */
function isAudience(audience: string): boolean {
  return (
    audience.length <= 500 &&
    /^[a-z][a-z0-9+.-]*:[!-"$-~]+$/.test(audience) &&
    URL.canParse(audience)
  )
}

function spelledOnce(uri: string): string {
  return new URL(uri).href.replace(/\/+$/, '')
}

function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
}
