import pg from 'pg'

import { withClock } from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import type { Deployment, DeploymentKind } from './deployment.ts'
import { type HardClients, openIdleConnections, startSlowClients } from './hard-clients.ts'
import { emptyDisk, fillDisk } from './small-disk.ts'

export interface Scenario {
  readonly name: string
  readonly at: DeploymentKind
  /** Whether requests may get a 503 or break during the fault. */
  readonly failsRequests: boolean
  /** Begins the fault. May return a remark for the report. */
  readonly begin: (deployment: Deployment, idleConnections: number) => unknown
  readonly end: (deployment: Deployment) => unknown
}

const SKEW_SECONDS = 300
const CLUSTER_TIMEOUT_MS = 30_000
/** More files of the write-ahead log than PostgreSQL keeps in reserve, so that it must create a new one. */
const LOG_FILES = 6

let open: HardClients | undefined

const hard = {
  at: 'one Redis',
  failsRequests: false,
  end: async () => open?.[Symbol.dispose](),
} as const

/** Faults during which requests may fail, each with the function that begins it and the one that ends it. */
const failing: Readonly<Record<string, readonly [begin: Scenario['end'], end: Scenario['end']]>> = {
  'a process is killed (kill -9)': [
    ({ processes }) => processes[1]?.kill(),
    ({ start }) => start(1),
  ],
  'Redis is killed, with an append-only file': [
    ({ redis }) => redis.kill(),
    ({ redis }) => redis.restart(),
  ],
  'Redis is frozen': [({ redis }) => redis.freeze(), ({ redis }) => redis.thaw()],
  'PostgreSQL is killed and started': [
    ({ postgres }) => postgres.kill(),
    ({ postgres }) => postgres.restart(),
  ],
  'PostgreSQL is frozen': [({ postgres }) => postgres.freeze(), ({ postgres }) => postgres.thaw()],
  'PostgreSQL takes no writes': [
    ({ databaseUrl }) => tell(databaseUrl, 'alter system set default_transaction_read_only = on'),
    ({ databaseUrl }) => tell(databaseUrl, 'alter system reset default_transaction_read_only'),
  ],
}

export const scenarios: readonly Scenario[] = [
  ...Object.entries(failing).map(
    ([name, [begin, end]]): Scenario => ({
      name,
      at: 'one Redis',
      failsRequests: true,
      begin,
      end,
    }),
  ),
  {
    ...{ ...hard, name: 'the processes are restarted in turn' },
    async begin({ processes, start }) {
      for (const index of [0, 1]) {
        await processes[index]?.stop()
        await start(index)
      }
    },
  },
  {
    ...{ ...hard, name: 'slow clients: heads, bodies, readers' },
    async begin({ addresses }) {
      open = await startSlowClients(addresses)
      return `${open.count} slow clients`
    },
  },
  {
    ...{ ...hard, name: 'idle connections' },
    async begin({ addresses }, idleConnections) {
      open = await openIdleConnections(addresses, idleConnections)
      return `${open.count} connections`
    },
  },
  {
    // Restarts one process with a wrong clock, as in a rolling restart.
    ...{ ...hard, name: 'clocks five minutes apart' },
    async begin({ processes, start }) {
      await processes[1]?.stop()
      await start(1, withClock(SKEW_SECONDS))
    },
    async end({ processes, start }) {
      await processes[1]?.stop()
      await start(1)
    },
  },
  {
    name: 'a master of three is killed, its replica takes over',
    ...{ at: 'a cluster', failsRequests: true },
    async begin({ cluster }) {
      const [master, , , replica] = cluster?.nodes ?? []
      await master?.kill()
      const startedMs = performance.now()
      await eventually(CLUSTER_TIMEOUT_MS, async () => {
        const role = await replica?.ask('ROLE')
        if (!Array.isArray(role) || role[0] !== 'master')
          throw new Error('the replica has not taken over')
        const info = String(await replica?.ask('CLUSTER', 'INFO'))
        if (!info.includes('cluster_state:ok')) throw new Error(info)
      })
      return `taken over after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`
    },
    end: async ({ cluster }) => await cluster?.nodes[0]?.restart(),
  },
  {
    ...{ name: 'the disk of PostgreSQL is full', at: 'a small disk', failsRequests: true },
    async begin({ disk = '', databaseUrl }) {
      fillDisk(disk)
      // PostgreSQL stops when it cannot create the next file of its write-ahead log.
      for (let i = 0; i < LOG_FILES; i += 1)
        await tell(databaseUrl, 'select pg_switch_wal()').catch(() => {})
      return (await answers(databaseUrl)) ? 'PostgreSQL kept running' : 'PostgreSQL stopped'
    },
    async end({ disk = '', postgres, databaseUrl }) {
      emptyDisk(disk)
      if (!(await answers(databaseUrl))) await postgres.restart()
    },
  },
]

async function tell(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  await client.connect()
  await client.query('set default_transaction_read_only = off')
  await client.query(statement)
  await client.query('select pg_reload_conf()')
  await client.end()
}

async function answers(url: string): Promise<boolean> {
  return await tell(url, 'select 1').then(
    () => true,
    () => false,
  )
}
