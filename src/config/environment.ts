import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

import { z } from 'zod'

import { isLoopbackInterface, isLoopbackUrl, loopbackAddress } from '../platform/http/loopback.ts'
import { isMailAddress } from '../platform/store/mail-address.ts'

const SECRET_LENGTH_MIN = 32

function oneOf<const T extends string>(byDefault: NoInfer<T>, ...allowed: readonly T[]) {
  return z
    .enum(allowed, { error: ({ path }) => `${path} must be one of ${allowed.join(', ')}` })
    .default(byDefault as z.util.NoUndefined<T>)
}

/** Creates the schema of an origin in canonical form (clients compare the issuer as text). Removes a trailing slash. */
const originOf = (name: string) =>
  z.string().transform((value, context) => {
    const url = URL.parse(value)
    const origin = url && /^https?:$/.test(url.protocol) ? url.origin : undefined
    if (origin === value.replace(/\/$/, '')) return origin
    const hint = origin ? ` (did you mean ${origin}?)` : ', for example https://example.com'
    context.addIssue(`${name} must be an http(s) URL with only a host and an optional port${hint}`)
    return z.NEVER
  })

function wholeNumber(name: string, min: number, max: number) {
  const error = `${name} must be a whole number from ${min} to ${max}`
  return z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max, { error })
    .transform(Number)
}

const WORKERS_MAX = 256

const workers = z
  .string()
  .transform((text) => (text === 'auto' ? availableParallelism() : Number(/^\d+$/.exec(text)?.[0])))
  .refine((count) => count >= 1 && count <= WORKERS_MAX, {
    error: `WORKERS must be "auto" or a whole number from 1 to ${WORKERS_MAX}`,
  })

const redisUrl = z
  .url({ protocol: /^rediss?$/, error: 'REDIS_URL must be a redis:// or rediss:// URL' })
  .transform((url) => ({ url }))

const redisCluster = z
  .string()
  .transform((text) => ({ clusterNodes: text.split(',').map((node) => node.trim()) }))
  .refine(({ clusterNodes }) => clusterNodes.every((node) => /^[^\s:]+:\d{1,5}$/.test(node)), {
    error: 'REDIS_CLUSTER_NODES must be host:port pairs separated by commas',
  })

const secrets = z
  .string()
  .transform((text) => text.split(/\s+/).filter(Boolean))
  .refine((all) => all.length > 0 && all.every(({ length }) => length >= SECRET_LENGTH_MIN), {
    error: `SECRET or SECRET_FILE must contain one or more secrets of at least ${SECRET_LENGTH_MIN} characters each`,
  })

const providerSecrets = z
  .string()
  .regex(/^\s*([a-z0-9-]+=\S+\s*)*$/, {
    error: 'IDENTITY_PROVIDER_SECRETS must be id=secret pairs separated by spaces',
  })
  .transform((text) =>
    Object.fromEntries([...text.matchAll(/([^\s=]+)=(\S+)/g)].map((pair) => pair.slice(1))),
  )

/** Creates the schema of a variable that names a file. Its output is the content of the file. */
const fileContent = (name: string) =>
  z.string().transform((file, context) => {
    try {
      return readFileSync(file, 'utf8').trim()
    } catch {
      context.addIssue(`${name} must be the path of a readable file`)
      return z.NEVER
    }
  })

const s3Bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, {
  error:
    'FILES_S3_BUCKET must be a bucket name: 3 to 63 lowercase letters, digits, dots and hyphens, with a letter or digit at both ends',
})

const smtpUrl = z.url({
  protocol: /^smtps?$/,
  hostname: /./,
  error: 'SMTP_URL must be like smtp://user:password@host:587 or smtps://user:password@host:465',
})

const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const

const webAddress = (name: string) =>
  z.url({ protocol: /^https?$/, error: `${name} must be an http or https URL` })

/** The variables of `config/example.env`. Errors quote only origins, because other values may be secrets. */
export const environmentVariables = z.object({
  BASE_URL: originOf('BASE_URL')
    .optional()
    .meta({
      shown: `http://${loopbackAddress}:<PORT>`,
      description:
        'Public URL of the service and issuer of its tokens. A trailing slash is removed.',
    }),
  HOST: z.string().default(loopbackAddress).describe('Interface address to listen on.'),
  PORT: wholeNumber('PORT', 1, 65_535).default(3000).describe('Port to listen on, 1 to 65535.'),
  WORKERS: workers
    .default(1)
    .describe('Number of processes accepting requests. `auto` starts one per available CPU core.'),
  DATA_DIR: z
    .string()
    .default('./data')
    .describe(
      'Folder for the embedded database, the generated secret, uploaded files and, without SMTP_URL, mail.',
    ),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'DATABASE_URL must be a postgres:// URL' })
    .optional()
    .describe('postgres://… URL of PostgreSQL 15 or newer. If empty, embedded SQLite is used.'),
  MIGRATE_AT_START: oneOf('yes', 'yes', 'no').describe(
    'If `no`, start-up fails while migrations are pending; apply them with `npm run gatehouse -- migrate`.',
  ),
  REDIS_URL: redisUrl
    .optional()
    .describe(
      'redis://… or rediss://… URL of Redis or Valkey, for OAuth state and rate-limit counters. If empty, OAuth state is stored in the database.',
    ),
  REDIS_CLUSTER_NODES: redisCluster
    .optional()
    .describe('Nodes of a Redis Cluster as host:port,host:port. Use them instead of REDIS_URL.'),
  SECRET: secrets
    .optional()
    .describe(
      'Root secret that authenticates cookies and tokens and encrypts keys, 32 characters or more. If you list several, separated by spaces, the first one signs and encrypts, and all of them verify and decrypt.',
    ),
  SECRET_FILE: fileContent('SECRET_FILE')
    .pipe(secrets)
    .optional()
    .describe('File that contains the root secrets, one per line. Use it instead of SECRET.'),
  FIREBASE_SIGNER_KEY: z
    .base64({
      error:
        'FIREBASE_SIGNER_KEY must be base64; copy the base64_signer_key from the password hash parameters of the Firebase project',
    })
    .optional()
    .describe('The base64_signer_key of a Firebase project, for imported password hashes.'),
  IDENTITY_PROVIDER_SECRETS: providerSecrets
    .optional()
    .describe(
      'Client secrets of the identity providers in service.json, as id=secret pairs separated by spaces.',
    ),
  FILES_S3_ENDPOINT: originOf('FILES_S3_ENDPOINT')
    .optional()
    .describe('Endpoint of an S3-compatible file store. If empty, files are stored in DATA_DIR.'),
  FILES_S3_BUCKET: s3Bucket.optional().describe('Private bucket for the files.'),
  FILES_S3_REGION: z.string().default('us-east-1').describe('Region for signing requests.'),
  FILES_S3_ACCESS_KEY_ID: z.string().optional().describe('Access key id for the files.'),
  FILES_S3_SECRET_ACCESS_KEY: z.string().optional().describe('Secret access key for the files.'),
  FILES_S3_SECRET_ACCESS_KEY_FILE: fileContent('FILES_S3_SECRET_ACCESS_KEY_FILE')
    .optional()
    .describe(
      'File that contains the secret access key. Use it instead of FILES_S3_SECRET_ACCESS_KEY.',
    ),
  SMTP_URL: smtpUrl
    .optional()
    .describe(
      'Mail server: smtp://user:password@host:port with STARTTLS, or smtps://…; percent-encode special characters. If empty, messages are written to files in DATA_DIR/mail.',
    ),
  MAIL_FROM: z
    .string()
    .refine(isMailAddress, { error: 'MAIL_FROM must be one plain e-mail address' })
    .optional()
    .describe('Sender address of messages, without a display name; required with SMTP_URL.'),
  TRUST_PROXY: oneOf('no', 'yes', 'no').describe(
    'If `yes`, the last address in X-Forwarded-For is taken as the client IP address. Use `yes` only behind your own proxy.',
  ),
  DEMO_DATA: oneOf('auto', 'auto', 'on', 'off').describe(
    '`auto` loads the demo campus into an empty embedded database if BASE_URL and HOST are loopback addresses. `on` loads it regardless of these addresses, and `off` never loads it. The demo passwords are public, so start-up fails if the database contains the demo campus but this setting forbids it.',
  ),
  CONFIG_DIR: z.string().optional().meta({
    shown: './config',
    description:
      'Folder that contains service.json and integrations.json, and optionally assistants.json, metadata-documents.json, conformance.json and demo/; by default, the config folder of this installation.',
  }),
  CONFORMANCE_PROFILE: oneOf('off', 'off', 'on', 'forced').describe(
    '`on` adds the clients and settings of the OpenID conformance suite (config/conformance.json), but start-up fails with production settings. `forced` adds them even with production settings.',
  ),
  AUDIT_STREAM: z
    .string()
    .optional()
    .describe('Audit stream (JSON lines): stdout, stderr or a file. If empty, the stream is off.'),
  LOG_LEVEL: oneOf('info', 'fatal', 'error', 'warn', 'info', 'debug', 'silent').describe(
    'The lowest level to log: fatal, error, warn, info or debug. `silent` logs nothing.',
  ),
  METRICS_PORT: wholeNumber('METRICS_PORT', 1, 65_535)
    .optional()
    .describe('Port of /metrics for Prometheus, different from PORT. If empty, metrics are off.'),
  METRICS_HOST: z
    .string()
    .default(loopbackAddress)
    .describe(
      'Interface address at which to serve metrics. Requests for metrics need no authentication.',
    ),
  // OpenTelemetry defines the variables that start with OTEL_.
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress('OTEL_EXPORTER_OTLP_ENDPOINT')
    .optional()
    .describe(
      'OTLP/HTTP endpoint for traces, such as http://127.0.0.1:4318. If neither this variable nor OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, no traces are exported. OTEL_EXPORTER_OTLP_HEADERS, _COMPRESSION and _CERTIFICATE work as in OpenTelemetry.',
    ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webAddress('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
    .optional()
    .describe('Full URL for traces; overrides OTEL_EXPORTER_OTLP_ENDPOINT.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .literal('http/protobuf', {
      error: 'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, which every collector accepts',
    })
    .default('http/protobuf')
    .describe('Protocol for exporting traces.'),
  OTEL_EXPORTER_OTLP_TIMEOUT: wholeNumber('OTEL_EXPORTER_OTLP_TIMEOUT', 100, 10_000)
    .default(3_000)
    .describe('Time limit in milliseconds for each export, including the last one at exit.'),
  OTEL_SDK_DISABLED: oneOf('false', 'true', 'false').describe('If `true`, tracing is off.'),
  OTEL_SERVICE_NAME: z
    .string()
    .default('gatehouse')
    .describe('Service name in traces; OTEL_RESOURCE_ATTRIBUTES adds attributes.'),
  OTEL_TRACES_SAMPLER: oneOf('parentbased_always_on', ...samplers).describe(
    `Sampler, which selects the requests to trace: one of ${samplers.join(', ')}.`,
  ),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine((text) => /^(0(\.\d+)?|1(\.0+)?)$/.test(text), {
      error: 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1',
    })
    .transform(Number)
    .default(1)
    .describe(
      'Share of requests that the samplers traceidratio and parentbased_traceidratio select, from 0 to 1.',
    ),
  TRUST_TRACEPARENT: oneOf('no', 'yes', 'no').describe(
    'If `yes`, requests continue the trace that their traceparent header names. Use `yes` only behind a proxy that sets this header.',
  ),
})

export type Environment = NonNullable<ReturnType<typeof readEnvironment>>

/** Parses the environment. If there are problems, adds them to `problems` and returns undefined. */
export function readEnvironment(variables: NodeJS.ProcessEnv, problems: string[]) {
  const before = problems.length
  // Treat an empty variable as unset.
  const texts = Object.entries(variables).map(([name, text]) => [name, text?.trim() || undefined])
  const set: NodeJS.ProcessEnv = Object.fromEntries(texts)
  const secretGiven = Boolean(set['SECRET'] ?? set['SECRET_FILE'])
  for (const [one, other] of Object.entries({
    REDIS_URL: 'REDIS_CLUSTER_NODES',
    SECRET: 'SECRET_FILE',
    FILES_S3_SECRET_ACCESS_KEY: 'FILES_S3_SECRET_ACCESS_KEY_FILE',
  })) {
    if (!set[one] || !set[other]) continue
    problems.push(`set ${one} or ${other}, not both`)
    delete set[other]
  }
  const { data, error } = environmentVariables.safeParse(set)
  for (const { path, message } of error?.issues ?? []) {
    problems.push(message)
    delete set[String(path[0])]
  }
  problems.push(...problemsOfCombinations(set, secretGiven))
  if (problems.length > before || !data) return undefined
  return {
    /** {base_url} of the specification: scheme, host and port, exactly as in the claim `iss`. */
    baseUrl: data.BASE_URL ?? `http://${loopbackAddress}:${data.PORT}`,
    host: data.HOST,
    port: data.PORT,
    /** The number of processes that accept requests. If it is 1, there is no primary. */
    workers: data.WORKERS,
    dataDir: data.DATA_DIR,
    databaseUrl: data.DATABASE_URL,
    migrateAtStart: data.MIGRATE_AT_START === 'yes',
    redis: data.REDIS_URL ?? data.REDIS_CLUSTER_NODES,
    /** The root secrets, the current one first; undefined if the service generates its secret. */
    secrets: data.SECRET ?? data.SECRET_FILE,
    firebaseSignerKey: data.FIREBASE_SIGNER_KEY,
    /** The client secrets of the platform's identity providers, by id. */
    providerSecrets: data.IDENTITY_PROVIDER_SECRETS ?? {},
    filesS3: s3LocationOf(data),
    /** The URL of the mail server, often with a password; undefined if messages are written to DATA_DIR/mail. */
    smtpUrl: data.SMTP_URL,
    mailFrom: data.MAIL_FROM ?? 'no-reply@localhost',
    trustProxy: data.TRUST_PROXY === 'yes',
    demoData: data.DEMO_DATA,
    /** The conformance profile's mode. Unless it is `off`, the OpenID suite's clients are registered (design 26). */
    conformanceProfile: data.CONFORMANCE_PROFILE,
    auditStream: data.AUDIT_STREAM,
    logLevel: data.LOG_LEVEL,
    metricsAddress:
      data.METRICS_PORT === undefined
        ? undefined
        : { host: data.METRICS_HOST, port: data.METRICS_PORT },
    traces: tracesOf(data),
  }
}

type Variables = z.output<typeof environmentVariables>

/** Returns the S3 location if it is complete. `problemsOfFiles` reports an incomplete location. */
function s3LocationOf(data: Variables) {
  const { FILES_S3_ENDPOINT: endpoint, FILES_S3_BUCKET: bucket, FILES_S3_REGION: region } = data
  const accessKeyId = data.FILES_S3_ACCESS_KEY_ID
  const secretAccessKey = data.FILES_S3_SECRET_ACCESS_KEY ?? data.FILES_S3_SECRET_ACCESS_KEY_FILE
  if (!endpoint || !bucket || !accessKeyId || !secretAccessKey) return undefined
  return { endpoint, bucket, region, accessKeyId, secretAccessKey }
}

function tracesOf(data: Variables) {
  const base = data.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/$/, '')
  const address =
    data.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (base === undefined ? undefined : `${base}/v1/traces`)
  if (address === undefined || data.OTEL_SDK_DISABLED === 'true') return undefined
  return {
    address,
    serviceName: data.OTEL_SERVICE_NAME,
    sendWithinMs: data.OTEL_EXPORTER_OTLP_TIMEOUT,
    sampler: data.OTEL_TRACES_SAMPLER,
    ratio: data.OTEL_TRACES_SAMPLER_ARG,
    trustParent: data.TRUST_TRACEPARENT === 'yes',
  }
}

/** Yields the problems of variables that depend on each other. */
function* problemsOfCombinations(set: NodeJS.ProcessEnv, secretGiven: boolean): Generator<string> {
  const url = set['BASE_URL'] ?? `http://${loopbackAddress}`
  const isOpen = !isLoopbackUrl(url)
  const redis = set['REDIS_URL'] ?? set['REDIS_CLUSTER_NODES']
  const store = set['DATABASE_URL'] ? 'DATABASE_URL' : redis && 'REDIS_URL or REDIS_CLUSTER_NODES'
  if (isOpen && url.startsWith('http:'))
    yield `BASE_URL must be an https URL, because ${url} is not a loopback address`
  const reason = whySecretIsNeeded(url, store)
  if (reason && !secretGiven) yield `SECRET or SECRET_FILE must be set, because ${reason}`
  yield* problemsOfFiles(set)
  if (set['SMTP_URL'] && !set['MAIL_FROM']) yield 'MAIL_FROM must be set, because SMTP_URL is set'
  const { METRICS_PORT: metricsPort, PORT: ownPort = '3000' } = set
  if (metricsPort === ownPort) yield 'METRICS_PORT must be different from PORT'
  if (set['CONFORMANCE_PROFILE'] === 'on' && (isOpen || store)) {
    yield 'CONFORMANCE_PROFILE=on weakens the security of a production service; ' +
      'set CONFORMANCE_PROFILE=forced to use it anyway'
  }
}

const s3Variables = ['ENDPOINT', 'BUCKET', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'].map(
  (name) => `FILES_S3_${name}`,
)

/** Yields a problem if only some of the required S3 variables are set. */
function* problemsOfFiles(set: NodeJS.ProcessEnv): Generator<string> {
  const secret = set['FILES_S3_SECRET_ACCESS_KEY'] ?? set['FILES_S3_SECRET_ACCESS_KEY_FILE']
  const given: NodeJS.ProcessEnv = { ...set, FILES_S3_SECRET_ACCESS_KEY: secret }
  const missing = s3Variables.filter((name) => !given[name])
  if (missing.length === 0 || missing.length === s3Variables.length) return
  yield `storing files in S3 also requires ${missing.join(', ')}`
}

/** Returns why a secret must be set; undefined for http on a loopback address without PostgreSQL or Redis. */
function whySecretIsNeeded(url: string, store: string | undefined): string | undefined {
  if (!isLoopbackUrl(url))
    return `BASE_URL is ${new URL(url).origin}, which is not a loopback address`
  if (url.startsWith('https:')) return 'BASE_URL is an https URL'
  return store && `processes that share a store (${store}) need the same secret`
}

/** Whether the service may start with the demo campus, although its passwords are public. */
export function mayServeDemo(
  env: Pick<Environment, 'demoData' | 'databaseUrl' | 'baseUrl' | 'host'>,
): boolean {
  if (env.demoData !== 'auto') return env.demoData === 'on'
  return !env.databaseUrl && isLoopbackUrl(env.baseUrl) && isLoopbackInterface(env.host)
}
