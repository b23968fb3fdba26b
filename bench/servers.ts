import { readFileSync } from 'node:fs'

import type { ClientMetadata } from 'oidc-provider'

import { hashAsInProduction, placeDemoDatabase } from '../test/support/demo-database.ts'
import { notes, resourceServer } from '../test/support/gatehouse.ts'
import { withoutLimits } from '../test/support/limits.ts'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import {
  configWith,
  type ServiceProcess,
  startProcess,
  type Variables,
} from '../test/support/process.ts'
import { findProgram, freePort, temporaryFolder } from '../test/support/programs.ts'
import { type RedisServer, startRedis } from '../test/support/redis.ts'
import { type Cores, pinned } from './cores.ts'
import type { Storage } from './options.ts'

/** The stores of all servers. Each service has its own database. The bare engine has its own Redis server. */
export interface Stores extends AsyncDisposable {
  readonly postgres: PostgresServer
  readonly redis: RedisServer
  readonly bareRedis: RedisServer
}

/** Starts the stores as in tests, with room for a million grants. They do not wait for the disk. */
export async function startStores(): Promise<Stores> {
  hashAsInProduction()
  await using opening = new AsyncDisposableStack()
  const redisFile = programFile('redis-server')
  const settings = ['shared_buffers=256MB', 'autovacuum=on', 'max_wal_size=4GB']
  const postgres = opening.use(await startPostgres(programFile('postgres'), settings))
  const redis = opening.use(await startRedis(redisFile))
  const bareRedis = opening.use(await startRedis(redisFile))
  const open = opening.move()
  return { postgres, redis, bareRedis, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

function programFile(name: string): string {
  const file = findProgram(name)
  if (file === undefined) throw new Error(`The bench needs ${name}. Install it.`)
  return file
}

export const SECRET = 'only-for-the-bench-only-for-the-bench-only'

/** Writes the default configuration without request limits, and returns its folder. */
const wideLimits = (): string => configWith(withoutLimits)

/**
 * Creates the stores of a service with the demo campus, and returns its environment variables. They include the port,
 * because tokens are valid only for one origin.
 */
export async function newPlace(
  storage: Storage,
  stores: Stores,
  redisDatabase = 0,
): Promise<Variables> {
  const common = {
    PORT: String(await freePort()),
    CONFIG_DIR: wideLimits(),
    SECRET,
    DEMO_DATA: 'on',
    LOG_LEVEL: 'info',
  }
  if (storage === 'sqlite') {
    const DATA_DIR = temporaryFolder()
    await placeDemoDatabase(DATA_DIR)
    return { ...common, DATA_DIR }
  }
  const DATABASE_URL = await stores.postgres.createDatabase('demo')
  const redis = { REDIS_URL: `${stores.redis.url}/${redisDatabase}` }
  return { ...common, DATABASE_URL, ...(storage === 'postgres-redis' && redis) }
}

export interface StartOptions {
  readonly cores: Cores | undefined
  readonly nodeFlags?: readonly string[]
}

const { start } = JSON.parse(readFileSync('package.json', 'utf8')).scripts
const [, arenas = '', flags = ''] = / MALLOC_ARENA_MAX=(\d+) exec node (.+?) \$/.exec(start) ?? []

/** Starts the service as `npm start` does. Discards its log. */
export async function startOurs(place: Variables, options: StartOptions): Promise<ServiceProcess> {
  const nodeFlags = [...flags.split(' '), ...(options.nodeFlags ?? [])]
  const variables = { MALLOC_ARENA_MAX: arenas, ...place }
  return await startProcess(variables, commandOf('src/main.ts', { ...options, nodeFlags }))
}

/** The clients of the bare engine: those that the load generator uses at the service. */
const bareClients: readonly ClientMetadata[] = [
  {
    client_id: notes.clientId,
    redirect_uris: [notes.redirectUri],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
  },
  {
    client_id: resourceServer.clientId,
    client_secret: resourceServer.clientSecret,
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris: [],
    response_types: [],
    grant_types: [],
  },
]

export async function startBare(
  { bareRedis }: Stores,
  options: StartOptions,
): Promise<ServiceProcess> {
  return await startProcess(
    { REDIS_URL: bareRedis.url, CLIENTS: JSON.stringify(bareClients) },
    commandOf('bench/bare-engine.ts', options),
  )
}

function commandOf(script: string, { cores, nodeFlags = [] }: StartOptions): readonly string[] {
  const node = pinned(cores, [process.execPath, ...nodeFlags, script])
  return ['/bin/sh', '-c', 'exec "$@" > /dev/null', 'sh', ...node]
}
