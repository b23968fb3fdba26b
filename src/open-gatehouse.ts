import type { RequestListener } from 'node:http'
import { join } from 'node:path'

import type { Logger } from 'pino'

import { makePageRecords } from './app-pages.ts'
import { makeConformanceProfile } from './authorization/conformance-profile.ts'
import {
  demoAccounts,
  holdsDemoCampus,
  isEmpty,
  loadCampus,
  RowsExist,
  readCampusFolder,
} from './campus/load.ts'
import type { Config } from './config/config.ts'
import { createService, type Stores } from './gatehouse.ts'
import { isLoopbackUrl } from './http/loopback.ts'
import { storageGuard } from './http/storage-guard.ts'
import { makeSecretRoot, readOrMakeSecret, type SecretRoot } from './keys/secret-root.ts'
import { type KeyDependencies, loadKeyRing } from './keys/signing-keys.ts'
import { makePasswords } from './people/password.ts'
import { type Database, openDatabase } from './store/database.ts'
import { guardedState, type StoreGuard } from './store/guard.ts'
import { openRedis } from './store/redis.ts'
import { redisState } from './store/redis-state.ts'
import { sqlState } from './store/sql-state.ts'

/** A running service without its socket: stores are open, keys are loaded, timers run. */
export interface Service extends AsyncDisposable {
  /** The application with the keys of this moment; it changes when keys rotate. */
  handler(): RequestListener
  /** What a person reads at the start. */
  welcome(startedInMs: number): string
  readonly stores: Stores
}

export interface ServiceOptions {
  readonly now?: () => number
  /** Sends the requests for metadata documents; tests reach hosts of their own by it. */
  readonly fetch?: typeof fetch
}

/**
 * Opens everything that the configuration names. What was opened is closed again, in reverse, when
 * the service is disposed of or a later step fails.
 */
export async function openService(
  config: Config,
  logger: Logger,
  { now = Date.now, fetch = globalThis.fetch }: ServiceOptions = {},
): Promise<Service> {
  await using opening = new AsyncDisposableStack()
  const secretRoot = openSecretRoot(config)
  const stores = await openStores(config, opening, logger)
  const accounts = await settleDemo(config, stores.database, now)
  const conformance = config.conformance && (await makeConformanceProfile(config.conformance))
  if (conformance) logger.warn('the conformance profile is on: its clients need no PKCE')
  const records = makePageRecords(stores.database, now)
  opening.defer(records.flush)
  opening.defer(repeatedly(config.service.storage.usageFlushSeconds, logger, records.flush))
  const makeApp = createService({
    records,
    conformance,
    ...stores,
    config,
    secretRoot,
    logger,
    demoAccounts: accounts,
    now,
    fetch,
  })

  const keys = keyDependencies(config, stores.database, secretRoot, now)
  let ring = await loadKeyRing(keys)
  let handler = makeApp(ring).callback()
  opening.defer(
    repeatedly(config.service.keys.reloadSeconds, logger, async () => {
      const found = await loadKeyRing(keys)
      if (found.version === ring.version) return
      ring = found
      handler = makeApp(ring).callback()
      logger.info({ keys: ring.version }, 'signing keys changed')
    }),
  )
  opening.defer(
    repeatedly(config.service.storage.sweepSeconds, logger, async () => {
      await stores.state.sweep()
      await records.prune()
    }),
  )

  const open = opening.move()
  return {
    stores,
    handler: () => handler,
    welcome: (startedInMs) => welcomeText(config, accounts, startedInMs),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** What the signing keys need; the command line rotates with the same. */
export function keyDependencies(
  ...[config, database, secretRoot, now]: [Config, Database, SecretRoot, () => number]
): KeyDependencies {
  return { database, secretRoot, policy: config.service.keys, now }
}

export function openSecretRoot(config: Config): SecretRoot {
  return makeSecretRoot(config.secrets ?? [readOrMakeSecret(config.dataDir)])
}

export async function openConfiguredDatabase(
  config: Config,
  logger: Logger,
  guard?: StoreGuard,
): Promise<Database> {
  const { answerWithinMs, databaseConnectionsMax } = config.service.storage
  const location = config.databaseUrl
    ? ({
        kind: 'postgres',
        url: config.databaseUrl,
        connectionsMax: databaseConnectionsMax,
      } as const)
    : ({ kind: 'sqlite', file: join(config.dataDir, 'gatehouse.db') } as const)
  return await openDatabase(location, {
    queryTimeoutMs: answerWithinMs,
    ...(guard && { guard }),
    onIdleError: (error) => logger.warn({ cause: error.message }, 'a database connection broke'),
  })
}

async function openStores(
  config: Config,
  opening: AsyncDisposableStack,
  logger: Logger,
): Promise<Stores> {
  const database = opening.use(await openConfiguredDatabase(config, logger, storageGuard))
  if (!config.redis) return { database, state: opening.use(sqlState(database)), redis: undefined }
  const redis = await openRedis(config.redis, {
    commandTimeoutMs: config.service.storage.answerWithinMs,
  })
  return { database, state: guardedState(opening.use(redisState(redis)), storageGuard), redis }
}

/**
 * Loads the demo campus where it belongs, and refuses to serve it where it does not: its passwords
 * are public, so that a service with it that others can reach would be open to everybody.
 */
async function settleDemo(config: Config, database: Database, now: () => number) {
  const mayServe = mayServeDemo(config)
  if (await holdsDemoCampus(database)) {
    if (!mayServe) throw new Error(demoRefusal(config))
    return demoAccounts(await readCampusFolder(config.demoFolder))
  }
  // A database of the operator's own is never filled by a start; `import` does that when asked.
  if (!mayServe || config.databaseUrl !== undefined || !(await isEmpty(database))) return []
  const campus = await readCampusFolder(config.demoFolder)
  const passwords = makePasswords(config.service.signIn)
  await loadDemo({ database, campus, hashPassword: passwords.hash, now, demo: true })
  return demoAccounts(campus)
}

function mayServeDemo({ demoData, databaseUrl, baseUrl }: Config): boolean {
  if (demoData !== 'auto') return demoData === 'on'
  return databaseUrl === undefined && isLoopbackUrl(baseUrl)
}

async function loadDemo(loading: Parameters<typeof loadCampus>[0]): Promise<void> {
  try {
    await loadCampus(loading)
  } catch (error) {
    // Another process of this host was faster.
    if (!(error instanceof RowsExist)) throw error
  }
}

function demoRefusal({ baseUrl, databaseUrl }: Config): string {
  const where = databaseUrl ? 'the database of DATABASE_URL' : 'the embedded database'
  return (
    `Gatehouse cannot start: ${where} holds the demo campus, whose passwords are public, and ` +
    `BASE_URL is ${baseUrl}. Set DEMO_DATA=on if that is what you want, or use an empty database.`
  )
}

/** Runs a task every so often, never twice at once; the result stops it and waits for it. */
function repeatedly(seconds: number, logger: Logger, task: () => Promise<void>) {
  let running = Promise.resolve()
  const run = async () => {
    try {
      await task()
    } catch (error) {
      logger.warn({ cause: String(error) }, 'a background task failed and will be tried again')
    }
  }
  const timer = setInterval(() => {
    running = running.then(run)
  }, seconds * 1000)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}

function welcomeText(
  { baseUrl }: Config,
  accounts: readonly { login: string; password: string; what: string }[],
  startedInMs: number,
): string {
  const lines = [
    `Gatehouse serves ${baseUrl} (started in ${startedInMs} ms)`,
    `  discovery   ${baseUrl}/.well-known/openid-configuration`,
    `  walkthrough ${baseUrl}/auth.md`,
    `  a token     npm run token`,
  ]
  if (accounts.length > 0) lines.push('Demo accounts (public passwords):')
  for (const { login, password, what } of accounts) lines.push(`  ${login}  ${password}  ${what}`)
  return `${lines.join('\n')}\n`
}
