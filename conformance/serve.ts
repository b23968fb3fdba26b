import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { pino } from 'pino'

import { openGatehouse } from '../src/compose.ts'
import { type Config, readConfig } from '../src/config/config.ts'
import { isLoopbackUrl } from '../src/platform/http/loopback.ts'
import { makeCertificate } from './certificate.ts'
import { enterFapiClients, makeProfileClients } from './key-clients.ts'
import { type Service, type ServiceKind, services } from './plans.ts'

export interface ServeOptions {
  readonly port: number
  /** The issuer. If it is not a loopback URL, the service listens on all interfaces. */
  readonly baseUrl: string
  readonly suiteBaseUrl: string
  /** The alias under which the suite runs the plan. */
  readonly alias: string
  /** What to enable; `plain` by default. */
  readonly kind?: ServiceKind
}

/** A running service for the suite. */
export interface ServedOverHttps extends AsyncDisposable {
  readonly config: Config
  /** The folder with the service's database, secret, certificate and private key. Removed when the service stops. */
  readonly folder: string
  readonly baseUrl: string
}

/**
 * The cipher suites that RFC 9325 §4.2 recommends for TLS 1.2 and an RSA key, and the usual ones of TLS 1.3. The
 * conformance suite checks that others are rejected.
 */
const ciphers = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256'],
].join(':')

const configFolder = join(import.meta.dirname, '../config')

/**
 * Starts a service with the demo campus, clients for the suite and a self-signed certificate, in a temporary folder.
 *
 * @throws Error if the port is in use or a URL is invalid
 */
export async function serveOverHttps(options: ServeOptions): Promise<ServedOverHttps> {
  await using opening = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'))
  opening.defer(() => rmSync(folder, { recursive: true, force: true }))
  const { certificate, privateKey } = makeCertificate(new URL(options.baseUrl).hostname)
  writeFileSync(certificateFile(folder), certificate)
  writeFileSync(join(folder, 'private-key.pem'), privateKey, { mode: 0o600 })
  writeFileSync(join(folder, 'secret'), randomBytes(32).toString('hex'), { mode: 0o600 })

  const { kind, baseUrl } = options
  const clients = kind === 'keys' ? await makeProfileClients(folder) : undefined
  const config = readServedConfig(folder, options, clients)
  const logger = pino({ base: null, level: config.logLevel }, pino.destination({ dest: 2 }))
  const service = opening.use(await openGatehouse(config, logger))
  if (kind === 'fapi2') await enterFapiClients(config, folder, options)
  const server = createServer(
    { key: privateKey, cert: certificate, ciphers },
    (request, response) => {
      service.handler()(request, response)
    },
  )
  const listening = once(server, 'listening')
  server.listen(options.port, isLoopbackUrl(baseUrl) ? 'localhost' : '0.0.0.0')
  await listening.catch((error: unknown) => {
    throw new Error(
      `Cannot listen on port ${options.port}: ${String(error)}. Choose another with --port.`,
      { cause: error },
    )
  })
  opening.defer(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const open = opening.move()
  return { config, folder, baseUrl, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

type ProfileClients = NonNullable<Config['conformance']>['clients']

/**
 * Returns the configuration of a service that `serveOverHttps` started with the same URLs.
 *
 * @param clients the clients of the profile; by default those of config/conformance.json
 */
export function readServedConfig(
  folder: string,
  options: Pick<ServeOptions, 'baseUrl' | 'suiteBaseUrl' | 'kind'> & { readonly alias?: string },
  clients?: ProfileClients,
): Config {
  const { baseUrl, suiteBaseUrl, alias, kind = 'plain' } = options
  const config = readConfig(
    {
      BASE_URL: baseUrl,
      DATA_DIR: folder,
      SECRET_FILE: join(folder, 'secret'),
      DEMO_DATA: 'on',
      CONFORMANCE_PROFILE: isLoopbackUrl(baseUrl) ? 'on' : 'forced',
      LOG_LEVEL: 'error',
    },
    configFolder,
  )
  const { profile, protocols }: Service = services[kind]
  const conformance = profile &&
    config.conformance && {
      ...{ ...config.conformance, suiteBaseUrl },
      ...(alias !== undefined && { alias }),
      ...(clients && { clients }),
    }
  const on = Object.fromEntries(protocols.map((protocol) => [protocol, true]))
  // The service sends sign-out notices to the suite, which is usually on a private host.
  const privateHosts = [new URL(suiteBaseUrl).host]
  const furtherPlans = { ...config.service.furtherPlans, ...on, privateHosts }
  return {
    ...config,
    conformance: conformance || undefined,
    service: { ...config.service, furtherPlans },
  }
}

/** Reads the certificate of a service, for clients that must trust it; undefined if the folder has none. */
export function readCertificate(folder: string): string | undefined {
  const file = certificateFile(folder)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function certificateFile(folder: string): string {
  return join(folder, 'certificate.pem')
}
