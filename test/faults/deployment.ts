import { setTimeout as delay } from 'node:timers/promises'

import { paths } from '../../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, codeVerifier } from '../support/client.ts'
import { notes, sam } from '../support/gatehouse.ts'
import { withoutLimits } from '../support/limits.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import {
  configWith,
  type ServiceProcess,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { eventually, freePort } from '../support/programs.ts'
import {
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../support/redis.ts'
import { get } from '../support/wire.ts'
import type { ObtainedCode } from './load.ts'
import { mountSmallDisk } from './small-disk.ts'

/** Each signs in once, and has a grant of its own. */
const BROWSERS = 6
const PREPARE_TIMEOUT_MS = 20_000
const RECOVER_TIMEOUT_MS = 60_000

export type DeploymentKind = 'one Redis' | 'a cluster' | 'a small disk'

/** Two processes of the service on PostgreSQL and Redis, with the settings of production but for limits. */
export interface Deployment extends AsyncDisposable {
  readonly addresses: readonly string[]
  readonly processes: readonly ServiceProcess[]
  readonly postgres: PostgresServer
  /** Runs statements as the superuser, in the service's database. */
  readonly databaseUrl: string
  /** The first server, where there are several. */
  readonly redis: RedisServer
  readonly cluster: RedisCluster | undefined
  /** The folder of the disk that PostgreSQL has to itself. */
  readonly disk: string | undefined
  /** Starts a process again at its own address, by another command if there is one. */
  start(index: number, command?: readonly string[]): Promise<void>
  /** New codes, through the whole flow, without a page where the grant is remembered. */
  obtainCodes(count: number): Promise<ObtainedCode[]>
  /** Waits until both processes say that they are ready; gives how long that took. */
  recover(): Promise<number>
}

/** What is kept on disk before it is acknowledged; a killed server has it still. */
const durableRedis = ['--appendonly', 'yes', '--appendfsync', 'always']

/**
 * @param files of the programs `redis-server` and `postgres`
 * @throws DiskRefused where this user may not mount a disk
 */
export async function startDeployment(
  kind: DeploymentKind,
  files: { readonly redis: string; readonly postgres: string },
): Promise<Deployment> {
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
    SECRET: 'the-secret-of-these-tests-is-long-enough-to-be-one',
    LOG_LEVEL: 'error',
    // All clients are one person at one address here, which no deployment has to bear.
    CONFIG_DIR: configWith(withoutLimits),
    ...(cluster
      ? { REDIS_CLUSTER_NODES: cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',') }
      : { REDIS_URL: redis.url }),
  }
  const processes: ServiceProcess[] = []
  const start = async (index: number, command?: readonly string[]) => {
    const setup = { ...variables, PORT: ports[index] ?? '' }
    processes[index] = stack.use(await startProcess(setup, command))
  }
  let stack: AsyncDisposableStack = opening
  await Promise.all([start(0), start(1)])
  const people = await signIn(baseUrl)
  const opened = opening.move()
  stack = opened
  return {
    ...{ addresses, processes, postgres, databaseUrl, redis, cluster, disk, start },
    obtainCodes: async (count) => await obtainCodes(baseUrl, people, count),
    recover: async () => await recover(addresses),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function signIn(url: string): Promise<HeadlessPerson[]> {
  const people = Array.from({ length: BROWSERS }, () => makeHeadlessPerson(sam))
  for (const person of people) await codeOf(person, url)
  return people
}

async function codeOf(person: HeadlessPerson, url: string): Promise<string> {
  return await eventually(PREPARE_TIMEOUT_MS, async () => {
    const { searchParams } = await person.authorize(authorizeUrl(url), notes.redirectUri)
    const code = searchParams.get('code')
    if (code === null) throw new Error(`no code came back: ${searchParams}`)
    return code
  })
}

async function obtainCodes(
  url: string,
  people: readonly HeadlessPerson[],
  count: number,
): Promise<ObtainedCode[]> {
  const codes: ObtainedCode[] = []
  await Promise.all(
    people.map(async (person, grant) => {
      for (let i = grant; i < count; i += people.length) {
        const code = await codeOf(person, url)
        codes.push({ grant, code, issuedAtMs: performance.now(), form: formOf(url, code) })
      }
    }),
  )
  return codes
}

function formOf(url: string, code: string): ObtainedCode['form'] {
  return {
    grant_type: 'authorization_code',
    code,
    redirect_uri: notes.redirectUri,
    client_id: notes.clientId,
    code_verifier: codeVerifier,
    resource: url,
  }
}

async function recover(addresses: readonly string[]): Promise<number> {
  const startedMs = performance.now()
  await eventually(RECOVER_TIMEOUT_MS, async () => {
    for (const address of addresses) {
      const { status, text } = await get(address + paths.ready)
      if (status === 200) continue
      await delay(20)
      throw new Error(`${paths.ready} of ${address} is still ${status}: ${text}`)
    }
  })
  return performance.now() - startedMs
}
