import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sql } from 'kysely'
import { pino } from 'pino'

import { openGatehouse } from '../../src/compose.ts'
import { type Config, readConfig, type ServicePolicy } from '../../src/config/config.ts'
import { isLoopbackUrl } from '../../src/platform/http/loopback.ts'
import type { Watchers } from '../../src/platform/monitoring/watch.ts'
import type { SendOutgoing } from '../../src/platform/outgoing/guarded-fetch.ts'
import { placeDemoDatabase } from './demo-database.ts'
import { listen } from './listen.ts'

export const configFolder = join(import.meta.dirname, '../../config')

/** The people and clients that tests use, from config/demo and config/integrations.json. */
export const sam = { login: 'sam@northlight.example', password: 'correct-horse-sam' }
export const olivia = { login: 'olivia@northlight.example', password: 'correct-horse-olivia' }
export const amir = { login: 'amir@northlight.example', password: 'correct-horse-amir' }
export const marco = { login: 'marco@openkitchen.example', password: 'correct-horse-marco' }
export const noor = { login: 'noor@northlight.example', password: 'correct-horse-noor' }
export const june = { login: 'june@openkitchen.example', password: 'correct-horse-june' }
export const notes = {
  clientId: 'northlight-notes',
  // An https URI, so that consent is remembered (design 17).
  redirectUri: 'https://notes.example/callback',
}
export const portal = {
  clientId: 'northlight-portal',
  clientSecret: 'demo-only-secret-of-the-northlight-student-portal-0001',
  redirectUri: 'https://portal.example/callback',
}
export const claude = {
  clientId: 'integration-claude',
  redirectUri: 'https://claude.ai/api/mcp/auth_callback',
}
export const resourceServer = {
  clientId: 'demo-resource-server',
  clientSecret: 'demo-only-secret-of-the-demo-resource-server-0002',
}

export type RunningService = Readonly<Awaited<ReturnType<typeof startService>>>

export interface ServiceSetup {
  /** Whether sites demand approvals, as in the default configuration. False by default in tests. */
  readonly demandsApprovals?: boolean
  /** Environment variables; by default, the service uses an embedded database in a new folder. */
  readonly environment?: Record<string, string>
  /** The host of the base URL; defaults to 127.0.0.1. */
  readonly host?: 'localhost'
  readonly policy?: (policy: ServicePolicy) => ServicePolicy
  /** Whether to keep the short storage timeout of production, for tests of that timeout. */
  readonly inTime?: boolean
  /** Whether to hash the demo passwords at the real cost, for tests of that cost. */
  readonly realHashes?: boolean
  readonly now?: () => number
  readonly fetch?: SendOutgoing
  readonly watchers?: Watchers
}

/** Starts a whole service on a free port, with an embedded database unless `environment` names another one. */
export async function startService(setup: ServiceSetup = {}) {
  await using opening = new AsyncDisposableStack()
  const server = createServer()
  const listening = await listen(server)
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'))
  opening.defer(() => rmSync(folder, { recursive: true, force: true }))

  const read = readConfig(
    {
      ...{ PORT: String(listening.port), DATA_DIR: folder },
      ...(setup.host && { BASE_URL: `http://${setup.host}:${listening.port}` }),
      ...setup.environment,
    },
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
      // The default configuration admits documents of real hosts, but tests must not send requests to other machines.
      fetch:
        setup.fetch ??
        ((input) =>
          Promise.reject(new Error(`a test requests ${input}; give the service a \`fetch\``))),
      ...(setup.watchers && { watchers: setup.watchers }),
    }),
  )
  if (!setup.demandsApprovals) {
    // Most tests make changes without approving them. test/approvals.test.ts tests the default.
    await sql`insert into site_approval (site_id, covers) select id, 'never' from site where true
      on conflict do nothing`.execute(service.stores.database.kysely)
  }
  opening.use(listening)
  server.on('request', (request, response) => service.handler()(request, response))
  const open = opening.move()
  return {
    ...{ url: config.baseUrl, config, service, log },
    kysely: service.stores.database.kysely,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

type Changes = { readonly [Section in keyof ServicePolicy]?: Partial<ServicePolicy[Section]> }

/** Returns a function that changes settings of a policy's sections. Replaces lists as a whole. */
export function policyWith(changes: Changes) {
  return (policy: ServicePolicy): ServicePolicy => ({
    ...policy,
    ...Object.fromEntries(
      Object.entries(changes).map(([section, change]) => [
        section,
        Array.isArray(change) ? change : { ...Reflect.get(policy, section), ...Object(change) },
      ]),
    ),
  })
}

/** Starts a service with changed settings. */
export const startWith = async (changes: Changes, setup: ServiceSetup = {}) =>
  await startService({ ...setup, policy: policyWith(changes) })

/** Raises the storage timeout, for a busy machine, and looks for outgoing messages more often, to save time. */
export function patient(policy: ServicePolicy): ServicePolicy {
  return { ...policy, storage: { ...policy.storage, answerWithinMs: 10_000, outboxLookMs: 100 } }
}

/** Settings for tests that read the audit trail, refusals or usage: the service writes them almost at once. */
export const flushing = { storage: { usageFlushSeconds: 0.02 } }
export const flushingSoon = policyWith(flushing)

function loadsDemo({ dataDir, databaseUrl, demoData, baseUrl }: Config, folder: string): boolean {
  if (dataDir !== folder || databaseUrl !== undefined || demoData === 'off') return false
  return demoData === 'on' || isLoopbackUrl(baseUrl)
}
