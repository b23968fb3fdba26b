/** Reads and validates the configuration. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { readDocumentAddress } from '../platform/http/client-addresses.ts'
import { FREE_SEGMENT, isRedirectPattern, mayBeConfigured } from '../platform/http/redirect-uri.ts'
import { assistantTable } from './assistant-table.ts'
import { mayServeDemo, readEnvironment } from './environment.ts'
import { problemsOfAudiences, problemsOfProviders, servicePolicy } from './service-policy.ts'

/** The whole configuration: URLs, secrets and process settings from the environment, policy from the JSON files. */
export type Config = ReturnType<typeof readConfig>

export type ServicePolicy = z.infer<typeof servicePolicy>
export type Integration = z.infer<typeof integration>

const uri = z.string().max(512)
const redirectUri = uri.refine(
  mayBeConfigured,
  'must be an https URL, an http URL with a loopback host, or a URI with a private-use scheme',
)
const redirectPattern = uri.refine(
  isRedirectPattern,
  `must be an https URL or a URI with a private-use scheme, and exactly one of its path segments must be ${FREE_SEGMENT}`,
)

const integration = z.strictObject({
  client_name: z.string().min(1).max(100),
  // Other names of the client, for example those of its editions and forks.
  other_names: z.array(z.string().min(1).max(100)).max(50).default([]),
  client_id: z.string().regex(/^[a-z0-9-]{3,64}$/),
  redirect_uris: z.array(redirectUri).min(1).max(20),
  redirect_patterns: z.array(redirectPattern).max(5).default([]),
  token_endpoint_auth_method: z.enum(['none', 'client_secret_post']).default('none'),
})

/** A copy of a metadata document. All members except `client_id` are validated when the copy is used. */
const documentCopy = z.looseObject({
  client_id: z
    .string()
    .refine(
      (value) => readDocumentAddress(value),
      'must be a canonical https URL with a public host name and a path',
    ),
})

const conformanceSettings = z.strictObject({
  suiteBaseUrl: z.url({ protocol: /^https$/ }),
  alias: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  clients: z.array(
    z.strictObject({
      client_id: z.string().min(1),
      // The conformance suite uses this secret as an HMAC key, which needs at least 32 bytes.
      client_secret: z.string().min(32).optional(),
      /** The public keys of a client with `private_key_jwt`. */
      jwks: z.strictObject({ keys: z.array(z.looseObject({})) }).optional(),
      token_endpoint_auth_method: z.enum([
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
      ]),
    }),
  ),
  claims: z.record(z.string(), z.unknown()),
})

/**
 * Reads the environment, and the JSON files in CONFIG_DIR or, by default, in `defaultFolder`. CONFIG_DIR may lack
 * assistants.json, metadata-documents.json and, unless the conformance profile is used, conformance.json.
 *
 * @throws one error that lists all problems found
 */
export function readConfig(environment: NodeJS.ProcessEnv, defaultFolder: string) {
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
  const ownAssistants = join(folder, 'assistants.json')
  const assistants = readJson(
    existsSync(ownAssistants) ? ownAssistants : join(defaultFolder, 'assistants.json'),
    assistantTable,
    problems,
  )
  for (const repeated of repeatedIn(integrations ?? [])) {
    problems.push(`integrations.json: ${repeated} is listed twice; names and ids must be unique`)
  }
  const { identityProviders = [] } = service?.signIn ?? {}
  problems.push(...problemsOfProviders(identityProviders, env?.providerSecrets))
  const clientIds = [...(integrations ?? []), ...(conformance?.clients ?? [])].map(
    ({ client_id }) => client_id,
  )
  if (env) {
    problems.push(...problemsOfAudiences(service?.upstreams ?? [], { ...env, clientIds }))
  }
  if (problems.length > 0 || !env || !service || !integrations || !assistants) {
    throw new Error(`Gatehouse cannot start:\n- ${problems.join('\n- ')}`)
  }
  return Object.freeze({
    ...env,
    service,
    integrations,
    /** Copies of metadata documents by URL, for use if fetching fails. */
    documentCopies: copies,
    assistants,
    demoFolder: join(folder, 'demo'),
    /** The clients and settings of the conformance suite; undefined if the profile is off. */
    conformance,
    mayServeDemo: mayServeDemo(env),
  })
}

/** Reads metadata-documents.json, if it exists. Returns the copies by document URL. */
function readCopies(file: string, problems: string[]): ReadonlyMap<string, string> {
  const copies = existsSync(file)
    ? readJson(file, z.array(documentCopy).max(100), problems)
    : undefined
  return new Map(copies?.map((copy) => [copy.client_id, JSON.stringify(copy)]))
}

function readJson<T>(file: string, shape: z.ZodType<T>, problems: string[]): T | undefined {
  try {
    const { data, error } = shape.safeParse(JSON.parse(readFileSync(file, 'utf8')))
    for (const { path, message } of error?.issues ?? []) {
      problems.push([file, ...(path.length > 0 ? [path.join('.')] : []), message].join(': '))
    }
    return data
  } catch (error) {
    problems.push(
      `${file} ${error instanceof SyntaxError ? 'is not valid JSON' : 'cannot be read'}`,
    )
    return undefined
  }
}

function repeatedIn(integrations: readonly Integration[]): string[] {
  const names = integrations.flatMap((row) => [row.client_id, row.client_name, ...row.other_names])
  return names.filter((name, position) => names.indexOf(name) !== position)
}
