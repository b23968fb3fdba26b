import { type RunningService, type ServiceSetup, startService } from './gatehouse.ts'
import { sharedPostgres } from './postgres.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { describeOnServers, sharedProgram, storesOfRun } from './skipped.ts'

/** Starts a whole service with the demo campus in a new database of the storage. */
export type Start = (setup?: ServiceSetup) => Promise<RunningService>

/** One service for all tests of a block, which change nothing that another of them reads. */
export function sharedService(setup?: ServiceSetup, start: Start = startService) {
  let running: RunningService | undefined
  before(async () => {
    running = await start(setup)
  })
  after(async () => await running?.[Symbol.asyncDispose]())
  return () => {
    if (!running) throw new Error('the service runs only while tests of its block do')
    return running
  }
}

/** Runs a suite on every storage of the run: SQLite, PostgreSQL, and PostgreSQL with Redis. */
export function forEachStorage(name: string, suite: (start: Start) => void): void {
  forEachDatabase(name, suite)

  describeOnServers(`${name} on PostgreSQL and Redis`, () => {
    const [postgres, redisFile] = [sharedProgram('postgres'), sharedProgram('redis-server')]
    let redis: RedisServer | undefined
    before(async () => {
      redis = await startRedis(redisFile())
    })
    after(async () => await redis?.[Symbol.asyncDispose]())
    suite(async (setup) => {
      if (!redis) throw new Error('Redis was not started')
      return await startOnPostgres(postgres(), setup, { REDIS_URL: redis.url })
    })
  })
}

/** Runs a suite on the databases of the run. For suites that do not depend on OAuth state. */
export function forEachDatabase(name: string, suite: (start: Start) => void): void {
  if (storesOfRun.sqlite) describe(`${name} on SQLite`, () => suite(startService))

  describeOnServers(`${name} on PostgreSQL`, () => {
    const postgres = sharedProgram('postgres')
    suite((setup) => startOnPostgres(postgres(), setup))
  })
}

/** A root secret, for services without a folder of their own. */
export const SECRET = 'only-for-tests-only-for-tests-only-for-tests'

async function startOnPostgres(
  file: string,
  setup: ServiceSetup = {},
  more: Record<string, string> = {},
): Promise<RunningService> {
  const environment = { ...(await postgresWithDemo(file)), ...more, ...setup.environment }
  return await startService({ ...setup, environment })
}

/** A new database with the demo campus in it, as the variables with which a service uses it. */
export async function postgresWithDemo(file: string) {
  const server = await sharedPostgres(file)
  // A reachable database gets no demo people by itself, and has no folder to keep a secret in.
  return { DATABASE_URL: await server.createDatabase('demo'), DEMO_DATA: 'on', SECRET }
}
