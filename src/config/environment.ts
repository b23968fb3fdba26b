import { readFileSync } from 'node:fs'

/**
 * Every environment variable that the service reads, with its default and its meaning. The values
 * are checked here; `config/example.env` is generated from this table and held against it by a test.
 */
export const environmentTable = [
  [
    'BASE_URL',
    'http://127.0.0.1:<PORT>',
    'Public address of the service and issuer of its tokens, without a trailing slash.',
  ],
  ['HOST', '127.0.0.1', 'Address of the interface to listen on.'],
  ['PORT', '3000', 'Port to listen on, 1 to 65535.'],
  ['DATA_DIR', './data', 'Folder of the embedded database and of the generated secret.'],
  [
    'DATABASE_URL',
    '',
    'postgres://… of PostgreSQL 15 or newer. Empty: the embedded SQLite database.',
  ],
  [
    'REDIS_URL',
    '',
    'redis:// or rediss://… for OAuth state. Empty: OAuth state lives in the database.',
  ],
  ['REDIS_CLUSTER_NODES', '', 'host:port,host:port of a Redis Cluster, instead of REDIS_URL.'],
  [
    'SECRET',
    '',
    'Root secret of cookies and sealed keys, 32 characters or more. Several, separated by spaces: the first seals, all open.',
  ],
  ['SECRET_FILE', '', 'File that holds SECRET, one a line.'],
  [
    'TRUST_PROXY',
    'no',
    'yes: the last address of X-Forwarded-For is the caller (set it behind a proxy of yours only).',
  ],
  [
    'DEMO_DATA',
    'auto',
    'auto: the demo campus is loaded into an empty embedded database on a loopback address; on: demo accounts are accepted anywhere; off: never.',
  ],
  [
    'CONFIG_DIR',
    './config',
    'Folder of service.json, integrations.json and demo/; the default is the one of this installation.',
  ],
  [
    'CONFORMANCE_PROFILE',
    'off',
    'on: the clients of config/conformance.json, and what the OpenID conformance suite wants of them; refused beside production settings. forced: also there.',
  ],
  ['LOG_LEVEL', 'info', 'fatal, error, warn, info, debug or silent.'],
] as const

export type DemoData = 'auto' | 'on' | 'off'
export type LogLevel = (typeof logLevels)[number]
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const

export interface Environment {
  /** {base_url} of the specification: scheme, host and port, byte for byte what tokens carry. */
  readonly baseUrl: string
  readonly host: string
  readonly port: number
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly redis: RedisLocation | undefined
  /** Root secrets, the current one first; absent when the embedded default may make its own. */
  readonly secrets: readonly string[] | undefined
  readonly trustProxy: boolean
  readonly demoData: DemoData
  /** Whether the clients of the OpenID conformance suite are served (design 26). */
  readonly conformanceProfile: 'off' | 'on' | 'forced'
  readonly logLevel: LogLevel
}

export type RedisLocation = { readonly url: string } | { readonly clusterNodes: readonly string[] }

const SECRET_LENGTH_MIN = 32
const loopbackHostnames: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Whether an address can only be reached from the machine itself. */
export function isLoopbackUrl(url: string): boolean {
  return loopbackHostnames.has(new URL(url).hostname)
}

/** Reads the environment; every problem is added to `problems`, and none hides another. */
export function readEnvironment(
  variables: NodeJS.ProcessEnv,
  problems: string[],
): Environment | undefined {
  const before = problems.length
  const read = (name: Name) => variables[name]?.trim() || undefined
  const port = readPort(read('PORT') ?? '3000', problems)
  const baseUrl = readBaseUrl(read('BASE_URL') ?? `http://127.0.0.1:${port}`, problems)
  const databaseUrl = readDatabaseUrl(read('DATABASE_URL'), problems)
  const environment = {
    baseUrl,
    port,
    databaseUrl,
    host: read('HOST') ?? '127.0.0.1',
    dataDir: read('DATA_DIR') ?? './data',
    redis: readRedis(read('REDIS_URL'), read('REDIS_CLUSTER_NODES'), problems),
    secrets: readSecrets(read('SECRET'), read('SECRET_FILE'), problems),
    trustProxy:
      readOneOf('TRUST_PROXY', read('TRUST_PROXY') ?? 'no', ['yes', 'no'], problems) === 'yes',
    demoData: readOneOf('DEMO_DATA', read('DEMO_DATA') ?? 'auto', ['auto', 'on', 'off'], problems),
    conformanceProfile: readOneOf(
      'CONFORMANCE_PROFILE',
      read('CONFORMANCE_PROFILE') ?? 'off',
      ['off', 'on', 'forced'],
      problems,
    ),
    logLevel: readOneOf('LOG_LEVEL', read('LOG_LEVEL') ?? 'info', logLevels, problems),
  }
  const secretGiven = Boolean(read('SECRET') ?? read('SECRET_FILE'))
  checkTogether(environment, secretGiven, problems)
  return problems.length > before ? undefined : environment
}

/** What each value allows by itself, and not beside the others. */
function checkTogether(environment: Environment, secretGiven: boolean, problems: string[]): void {
  const reason = secretGiven ? undefined : whySecretIsNeeded(environment)
  if (reason) problems.push(`SECRET or SECRET_FILE must be set, because ${reason}`)
  const { baseUrl, databaseUrl, redis, conformanceProfile } = environment
  const production = databaseUrl !== undefined || redis !== undefined || !isLoopbackUrl(baseUrl)
  if (conformanceProfile === 'on' && production) {
    problems.push(
      'CONFORMANCE_PROFILE=on weakens what a production service promises; ' +
        'CONFORMANCE_PROFILE=forced says that you want it all the same',
    )
  }
}

/** The text of config/example.env. */
export function renderExampleEnv(): string {
  const rows = environmentTable.map(
    ([name, value, meaning]) => `# ${meaning}\n# ${name}=${value}\n`,
  )
  return `# Environment of Gatehouse. Each line shows the default; remove the # to change it.\n\n${rows.join('\n')}`
}

type Name = (typeof environmentTable)[number][0]

/** A generated secret lives beside the embedded database; nobody else may depend on one. */
function whySecretIsNeeded({ baseUrl, databaseUrl, redis }: Environment): string | undefined {
  if (!isLoopbackUrl(baseUrl)) return `BASE_URL is ${baseUrl}, which others can reach`
  if (baseUrl.startsWith('https:')) return 'BASE_URL is https'
  if (databaseUrl) return 'DATABASE_URL is given, and every process must have the same secret'
  if (redis) return 'Redis is given, and every process must have the same secret'
  return undefined
}

function readPort(value: string, problems: string[]): number {
  const port = Number(value)
  if (/^\d+$/.test(value) && port >= 1 && port <= 65_535) return port
  problems.push(`PORT must be a number from 1 to 65535, not ${JSON.stringify(value)}`)
  return 0
}

function readBaseUrl(value: string, problems: string[]): string {
  const url = URL.parse(value)
  const bare = value.replace(/\/$/, '')
  // The value becomes the issuer byte for byte, so only the one canonical spelling is accepted.
  if (url && /^https?:$/.test(url.protocol) && url.origin === bare) {
    if (url.protocol === 'https:' || loopbackHostnames.has(url.hostname)) return bare
    problems.push(`BASE_URL must be https, except on a loopback address: ${value}`)
    return bare
  }
  const hint = url && /^https?:$/.test(url.protocol) ? ` (did you mean ${url.origin}?)` : ''
  // Before an @ there may be a password.
  const shown = value.includes('@') ? '' : `, not ${JSON.stringify(value)}`
  problems.push(`BASE_URL must be scheme, host and port only${shown}${hint}`)
  return 'http://127.0.0.1'
}

function readDatabaseUrl(value: string | undefined, problems: string[]): string | undefined {
  if (!value || /^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? '')) return value
  // The value is not repeated, because it holds a password.
  problems.push('DATABASE_URL must be a postgres:// URL')
  return undefined
}

function readRedis(
  url: string | undefined,
  nodes: string | undefined,
  problems: string[],
): RedisLocation | undefined {
  if (url && nodes) problems.push('REDIS_URL and REDIS_CLUSTER_NODES exclude each other')
  if (url) {
    if (/^rediss?:$/.test(URL.parse(url)?.protocol ?? '')) return { url }
    problems.push('REDIS_URL must be a redis:// or rediss:// URL')
  }
  if (!nodes) return undefined
  const clusterNodes = nodes.split(',').map((node) => node.trim())
  if (clusterNodes.every((node) => /^[^\s:]+:\d{1,5}$/.test(node))) return { clusterNodes }
  problems.push('REDIS_CLUSTER_NODES must be host:port, separated by commas')
  return undefined
}

function readSecrets(
  secret: string | undefined,
  file: string | undefined,
  problems: string[],
): readonly string[] | undefined {
  if (secret && file) {
    problems.push('SECRET and SECRET_FILE exclude each other')
    return undefined
  }
  const text = file ? readSecretFile(file, problems) : secret
  if (text === undefined) return undefined
  const secrets = text.split(/\s+/).filter(Boolean)
  if (secrets.length > 0 && secrets.every(({ length }) => length >= SECRET_LENGTH_MIN))
    return secrets
  problems.push(`each secret must have ${SECRET_LENGTH_MIN} characters or more`)
  return undefined
}

function readSecretFile(file: string, problems: string[]): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    // The value is not repeated: a secret is put there by mistake now and then.
    problems.push('SECRET_FILE names a file that cannot be read')
    return undefined
  }
}

function readOneOf<const T extends string>(
  ...[name, value, allowed, problems]: [Name, string, readonly T[], string[]]
): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found) return found
  problems.push(`${name} must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`)
  return allowed[0] as T
}
