import { type RunningService, type ServiceSetup, startService } from './gatehouse.ts'
import { sharedPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import { shared } from './shared.ts'
import { describeOnServers, sharedProgram, storesOfRun } from './skipped.ts'

/** Starts a whole service with the demo campus in a new database of the storage. */
export type Start = (setup?: ServiceSetup) => Promise<RunningService>

/** Starts one service for all tests of a block. They must not change data that other tests of the block read. */
export function sharedService(setup?: ServiceSetup): () => RunningService
export function sharedService<Service>(
  setup: ServiceSetup | undefined,
  start: (setup?: ServiceSetup) => Promise<Service>,
): () => Service
export function sharedService(setup?: ServiceSetup, start: Start = startService) {
  return shared(async () => await start(setup))
}

/** Runs a suite on each storage that TEST_STORES selects: SQLite, PostgreSQL, and PostgreSQL with Redis. */
export function forEachStorage(name: string, suite: (start: Start) => void): void {
  forEachDatabase(name, suite)

  describeOnServers(`${name} on PostgreSQL and Redis`, () => {
    const [postgres, redis] = [sharedProgram('postgres'), sharedRedis()]
    suite((setup) => startOnPostgres(postgres(), setup, { REDIS_URL: redis().url }))
  })
}

/** Runs a suite on the databases of the run. For suites that do not depend on the store of OAuth state. */
export function forEachDatabase(name: string, suite: (start: Start) => void): void {
  if (storesOfRun.sqlite) describe(`${name} on SQLite`, () => suite(startService))

  describeOnServers(`${name} on PostgreSQL`, () => {
    const postgres = sharedProgram('postgres')
    suite((setup) => startOnPostgres(postgres(), setup))
  })
}

/** A root secret for services without a folder of their own. */
export const SECRET = 'only-for-tests-only-for-tests-only-for-tests'

async function startOnPostgres(
  file: string,
  setup: ServiceSetup = {},
  more: Record<string, string> = {},
): Promise<RunningService> {
  const environment = { ...(await postgresWithDemo(file)), ...more, ...setup.environment }
  return await startService({ ...setup, environment })
}

/** Starts a Redis server for all tests of a block. */
export function sharedRedis(options?: readonly string[]) {
  const file = sharedProgram('redis-server')
  return shared(async () => await startRedis(file(), options))
}

/** Creates a database with the demo campus for all tests of a block. */
export function sharedDemo() {
  const file = sharedProgram('postgres')
  return shared(async () => await postgresWithDemo(file()))
}

/** Creates a database with the demo campus. Returns the variables for a service that uses it. */
export async function postgresWithDemo(file: string) {
  const server = await sharedPostgres(file)
  // With DATABASE_URL, the service serves the demo campus only with DEMO_DATA, and requires a SECRET.
  return { DATABASE_URL: await server.createDatabase('demo'), DEMO_DATA: 'on', SECRET }
}
