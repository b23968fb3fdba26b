import { paths } from '../../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { codeBy } from '../support/client.ts'
import { sam } from '../support/gatehouse.ts'
import { withoutLimits } from '../support/limits.ts'
import { startPostgres } from '../support/postgres.ts'
import {
  configWith,
  type ServiceProcess,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { eventually, freePort } from '../support/programs.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'
import { SECRET } from '../support/storages.ts'
import { get } from '../support/wire.ts'
import type { ObtainedCode } from './load.ts'
import { mountSmallDisk } from './small-disk.ts'

const BROWSERS = 6
const PREPARE_TIMEOUT_MS = 20_000
const RECOVER_TIMEOUT_MS = 60_000

export type DeploymentKind = 'one Redis' | 'a cluster' | 'a small disk'

export type Deployment = Awaited<ReturnType<typeof startDeployment>>

/** With these options, Redis keeps acknowledged writes when it is killed. */
const durableRedis = ['--appendonly', 'yes', '--appendfsync', 'always']

/** Starts two processes on PostgreSQL and Redis, with the default policy except for limits. May throw DiskRefused. */
export async function startDeployment(
  kind: DeploymentKind,
  files: { readonly redis: string; readonly postgres: string },
) {
  await using opening = new AsyncDisposableStack()
  const disk = kind === 'a small disk' ? opening.use(mountSmallDisk()).folder : undefined
  const postgres = opening.use(await startPostgres(files.postgres, ['synchronous_commit=on'], disk))
  const cluster =
    kind === 'a cluster'
      ? opening.use(await startRedisCluster(files.redis, { replicas: true }))
      : undefined
  const redis = cluster?.nodes[0] ?? opening.use(await startRedis(files.redis, durableRedis))
  const databaseUrl = await postgres.createDatabase('demo')
  const ports = [String(await freePort()), String(await freePort())]
  const addresses = ports.map((port) => `http://127.0.0.1:${port}`)
  const [baseUrl = ''] = addresses
  const variables: Variables = {
    BASE_URL: baseUrl,
    DATABASE_URL: databaseUrl,
    DEMO_DATA: 'on',
    SECRET,
    LOG_LEVEL: 'error',
    // All clients act for one person from one IP address, and would exceed the limits.
    CONFIG_DIR: configWith(withoutLimits),
    ...(cluster ? { REDIS_CLUSTER_NODES: cluster.addresses.join(',') } : { REDIS_URL: redis.url }),
  }
  const processes: ServiceProcess[] = []
  opening.defer(async () => {
    // The first process has no entry if only the second one could start.
    for (const index of processes.keys()) await processes[index]?.[Symbol.asyncDispose]()
  })
  const start = async (index: number, command?: readonly string[]) => {
    processes[index] = await startProcess({ ...variables, PORT: ports[index] ?? '' }, command)
  }
  await Promise.all([start(0), start(1)])
  const people = Array.from({ length: BROWSERS }, () => makeHeadlessPerson(sam))
  for (const person of people) await codeOf(person, baseUrl)
  const opened = opening.move()
  return {
    ...{ addresses, processes, postgres, databaseUrl, cluster, disk },
    redis,
    start,
    obtainCodes: async (count: number) => await obtainCodes(baseUrl, people, count),
    recover: async () => await recover(addresses),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function codeOf(person: HeadlessPerson, url: string) {
  return await eventually(PREPARE_TIMEOUT_MS, async () => await codeBy(person, url))
}

async function obtainCodes(url: string, people: readonly HeadlessPerson[], count: number) {
  const codes: ObtainedCode[] = []
  await Promise.all(
    people.map(async (person, grant) => {
      for (let i = grant; i < count; i += people.length) {
        const { code, form } = await codeOf(person, url)
        codes.push({ grant, code, issuedAtMs: performance.now(), form })
      }
    }),
  )
  return codes
}

async function recover(addresses: readonly string[]): Promise<number> {
  const startedMs = performance.now()
  await eventually(RECOVER_TIMEOUT_MS, async () => {
    for (const address of addresses) {
      const { status, text } = await get(address + paths.ready)
      if (status !== 200)
        throw new Error(`${paths.ready} of ${address} is still ${status}: ${text}`)
    }
  })
  return performance.now() - startedMs
}
