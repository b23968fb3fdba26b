/** The configuration, read once and checked. What it is used for is not known here. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { loopbackHosts } from '../platform/http/loopback.ts'
import { FREE_SEGMENT, isRedirectPattern, mayBeListed } from '../platform/http/redirect-uri.ts'
import { readDocumentAddress } from '../platform/http/server-address.ts'
import { apiLimits } from './api-limits.ts'
import { type Assistant, assistantTable } from './assistant-table.ts'
import { type Environment, mayServeDemo, readEnvironment } from './environment.ts'
import { furtherPlans } from './further-plans.ts'
import { requestLimits, signInLimits } from './request-limits.ts'
import { problemsOfAudiences, upstreams } from './upstreams.ts'

const DAY_SECONDS = 86_400

/** A whole number of seconds, one at least. */
const seconds = (max: number) => z.int().min(1).max(max)

/**
 * The whole configuration: addresses and secrets from the environment (`environment.ts`), policy
 * from `config/*.json`. It is read once, before anything is opened, and parts receive values of it,
 * never the whole.
 */
export interface Config extends Environment {
  readonly service: ServicePolicy
  readonly integrations: readonly Integration[]
  /** Metadata documents that stand in for those that cannot be read, as text by their addresses. */
  readonly documentCopies: ReadonlyMap<string, string>
  /** The assistants that operators can connect with one press. */
  readonly assistants: readonly Assistant[]
  readonly demoFolder: string
  /** Whether this service may serve the demo campus, whose passwords are public. */
  readonly mayServeDemo: boolean
  /** Present while the conformance profile is on. */
  readonly conformance: z.infer<typeof conformanceSettings> | undefined
}

export type ServicePolicy = z.infer<typeof servicePolicy>
export type Integration = z.infer<typeof integration>

/** As the Origin header spells it: scheme, host and port, no slash behind. */
const browserOrigin = z
  .string()
  .refine(
    (value) => URL.parse(value)?.origin === value,
    'must be an origin like https://app.example',
  )

const servicePolicy = z.strictObject({
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
  /** How long an authorization request may be, which anybody sends and this service keeps. */
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
    // How often somebody looks for announcements that not every subscriber has.
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
    // Of clients that registered themselves and with which nobody allowed anything yet.
    unusedClientSeconds: seconds(30 * DAY_SECONDS).default(DAY_SECONDS),
    unusedClientsPerNetworkMax: z.int().min(1).max(100_000).default(200),
    // Callbacks that a pattern of integrations.json admitted, of each platform.
    callbacksPerPlatformMax: z.int().min(1).max(1_000_000),
    // One with which nobody allowed anything yet.
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

const integration = z.strictObject({
  client_name: z.string().min(1).max(100),
  // Editions and forks that register under the name of their product.
  other_names: z.array(z.string().min(1).max(100)).max(50).default([]),
  client_id: z.string().regex(/^[a-z0-9-]{3,64}$/),
  redirect_uris: z
    .array(
      z
        .string()
        .max(512)
        .refine(
          mayBeListed,
          "must be an https address, http on this machine, or one of an app's own scheme",
        ),
    )
    .min(1)
    .max(20),
  redirect_patterns: z
    .array(
      z
        .string()
        .max(512)
        .refine(
          isRedirectPattern,
          `must be a plain https address one segment of whose path is ${FREE_SEGMENT}`,
        ),
    )
    .max(5)
    .default([]),
  token_endpoint_auth_method: z.enum(['none', 'client_secret_post']).default('none'),
})

/** Each is judged as one that was fetched, when it is needed. */
const documentCopies = z
  .array(
    z.looseObject({
      client_id: z
        .string()
        .refine(
          (value) => readDocumentAddress(value) !== undefined,
          'must be a plain https address',
        ),
    }),
  )
  .max(100)

const conformanceSettings = z.strictObject({
  suiteBaseUrl: z.url({ protocol: /^https$/ }),
  alias: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  clients: z.array(
    z.strictObject({
      client_id: z.string().min(1),
      // The suite signs with it, which takes 32 bytes.
      client_secret: z.string().min(32),
      token_endpoint_auth_method: z.enum(['client_secret_basic', 'client_secret_post']),
    }),
  ),
  claims: z.record(z.string(), z.unknown()),
})

/**
 * Reads the environment and `config/*.json`, or throws one error that names every problem, so that
 * an operator mends a configuration in one go.
 *
 * @param environment the process's variables; `main.ts` and the command line pass them
 * @param defaultFolder where service.json, integrations.json, assistants.json and demo/ lie, unless
 *   CONFIG_DIR names another place; assistants.json is taken from here when that place has none
 */
export function readConfig(environment: NodeJS.ProcessEnv, defaultFolder: string): Config {
  const problems: string[] = []
  const folder = environment['CONFIG_DIR']?.trim() || defaultFolder
  const env = readEnvironment(environment, problems)
  const conformance =
    env && env.conformanceProfile !== 'off'
      ? readJson(join(folder, 'conformance.json'), conformanceSettings, problems)
      : undefined
  const service = readJson(join(folder, 'service.json'), servicePolicy, problems)
  const integrations = readJson(join(folder, 'integrations.json'), z.array(integration), problems)
  const copies = readCopies(join(folder, 'metadata-documents.json'), problems)
  const assistants = readJson(assistantsFile(folder, defaultFolder), assistantTable, problems)
  for (const repeated of repeatedIn(integrations ?? [])) {
    problems.push(`integrations.json: ${repeated} is listed twice`)
  }
  const clientIds = [...(integrations ?? []), ...(conformance?.clients ?? [])].map(
    ({ client_id }) => client_id,
  )
  const { baseUrl } = env ?? {}
  if (baseUrl !== undefined) {
    problems.push(...problemsOfAudiences(service?.upstreams ?? [], { baseUrl, clientIds }))
  }
  if (problems.length > 0 || !env || !service || !integrations || !assistants) {
    throw new Error(`Gatehouse cannot start:\n- ${problems.join('\n- ')}`)
  }
  const demoFolder = join(folder, 'demo')
  return Object.freeze({
    ...env,
    service,
    integrations,
    documentCopies: copies,
    assistants,
    demoFolder,
    conformance,
    mayServeDemo: mayServeDemo(env),
  })
}

/** A folder of an older version has no such file, and needs none. */
function readCopies(file: string, problems: string[]): Config['documentCopies'] {
  const copies = existsSync(file) ? readJson(file, documentCopies, problems) : undefined
  return new Map(copies?.map((copy) => [copy.client_id, JSON.stringify(copy)]))
}

/** A folder of one's own needs no copy of a table that only says what assistants are like. */
function assistantsFile(folder: string, defaultFolder: string): string {
  const own = join(folder, 'assistants.json')
  return existsSync(own) ? own : join(defaultFolder, 'assistants.json')
}

function readJson<T>(file: string, shape: z.ZodType<T>, problems: string[]): T | undefined {
  try {
    const { data, error } = shape.safeParse(JSON.parse(readFileSync(file, 'utf8')))
    for (const { path, message } of error?.issues ?? []) {
      problems.push(`${file}: ${path.join('.')}: ${message}`)
    }
    return data
  } catch (error) {
    problems.push(`${file} ${error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'}`)
    return undefined
  }
}

function repeatedIn(integrations: readonly Integration[]): string[] {
  const names = integrations.flatMap((row) => [row.client_id, row.client_name, ...row.other_names])
  return names.filter((name, position) => names.indexOf(name) !== position)
}
