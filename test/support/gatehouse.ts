import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { pino } from 'pino'

import { type Gatehouse, openGatehouse } from '../../src/compose.ts'
import { type Config, readConfig, type ServicePolicy } from '../../src/config/config.ts'
import { isLoopbackUrl } from '../../src/platform/http/loopback.ts'
import type { Watchers } from '../../src/platform/monitoring/watch.ts'
import type { SendOutgoing } from '../../src/platform/outgoing/guarded-fetch.ts'
import { placeDemoDatabase } from './demo-database.ts'

export const configFolder = join(import.meta.dirname, '../../config')

/** The demo people and clients that tests use; config/demo holds them. */
export const sam = { login: 'sam@northlight.example', password: 'correct-horse-sam' }
export const olivia = { login: 'olivia@northlight.example', password: 'correct-horse-olivia' }
export const amir = { login: 'amir@northlight.example', password: 'correct-horse-amir' }
export const marco = { login: 'marco@openkitchen.example', password: 'correct-horse-marco' }
export const noor = { login: 'noor@northlight.example', password: 'correct-horse-noor' }
export const june = { login: 'june@openkitchen.example', password: 'correct-horse-june' }
export const theo = { login: 'theo@northlight.example', password: 'correct-horse-theo' }
export const notes = {
  clientId: 'northlight-notes',
  // At an address of the web, where consent is remembered (design 17).
  redirectUri: 'https://notes.example/callback',
}
export const portal = {
  clientId: 'northlight-portal',
  clientSecret: 'demo-only-secret-of-the-northlight-student-portal-0001',
  redirectUri: 'https://portal.example/callback',
}
/** The client of a vendor platform, from config/integrations.json. */
export const claude = {
  clientId: 'integration-claude',
  redirectUri: 'https://claude.ai/api/mcp/auth_callback',
}
export const resourceServer = {
  clientId: 'demo-resource-server',
  clientSecret: 'demo-only-secret-of-the-demo-resource-server-0002',
}

export interface RunningService extends AsyncDisposable {
  readonly url: string
  readonly config: Config
  readonly service: Gatehouse
  /** Every line that was logged, as it was written. */
  readonly log: readonly string[]
}

export interface ServiceSetup {
  /** Variables on top of an embedded database in a folder of its own. */
  readonly environment?: Record<string, string>
  readonly policy?: (policy: ServicePolicy) => ServicePolicy
  /** Keeps the time limit of storage, for tests of it; others must not fail on a slow machine. */
  readonly inTime?: boolean
  /** Whether the demo passwords cost what a real hash costs. Slow: use it where the cost matters. */
  readonly realHashes?: boolean
  readonly now?: () => number
  /** Sends the requests for metadata documents. */
  readonly fetch?: SendOutgoing
  /** Who measures. */
  readonly watchers?: Watchers
}

/** A whole service on a port of its own, on the embedded database unless the variables say else. */
export async function startService(setup: ServiceSetup = {}): Promise<RunningService> {
  await using opening = new AsyncDisposableStack()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'))
  opening.defer(() => rmSync(folder, { recursive: true, force: true }))

  const read = readConfig(
    { PORT: String(port), DATA_DIR: folder, ...setup.environment },
    configFolder,
  )
  const policy = setup.inTime ? read.service : patient(read.service)
  const config = { ...read, service: setup.policy ? setup.policy(policy) : policy }
  if (loadsDemo(config, folder) && !setup.realHashes) await placeDemoDatabase(folder, setup.now?.())
  const log: string[] = []
  const logger = pino({ base: null }, { write: (line: string) => void log.push(line) })
  const service = opening.use(
    await openGatehouse(config, logger, {
      ...(setup.now && { now: setup.now }),
      fetch: setup.fetch ?? fetchNothing,
      ...(setup.watchers && { watchers: setup.watchers }),
    }),
  )
  opening.defer(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  server.on('request', (request, response) => service.handler()(request, response))
  const open = opening.move()
  return {
    url: config.baseUrl,
    config,
    service,
    log,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** Documents of real hosts are admitted by the default configuration, and no test leaves this machine. */
const fetchNothing: SendOutgoing = async (input) => {
  throw new Error(`a test asks for ${String(input)}`)
}

/** Storage may take as long as a machine needs that has a lot else to do. */
export function patient(policy: ServicePolicy): ServicePolicy {
  return { ...policy, storage: { ...policy.storage, answerWithinMs: 10_000 } }
}

/** Whether the service would load the demo campus into the folder of its own. */
function loadsDemo({ dataDir, databaseUrl, demoData, baseUrl }: Config, folder: string): boolean {
  if (dataDir !== folder || databaseUrl !== undefined || demoData === 'off') return false
  return demoData === 'on' || isLoopbackUrl(baseUrl)
}
