import pg from 'pg'

import { eventually } from '../support/programs.ts'
import type { Deployment, DeploymentKind } from './deployment.ts'
import { openIdleConnections, startSlowClients } from './hard-clients.ts'
import { emptyDisk, fillDisk } from './small-disk.ts'

/** A fault, how it begins under load, and how it ends. */
export interface Scenario {
  readonly name: string
  readonly at: DeploymentKind
  /** Whether requests may be answered 503 or break while it lasts; else not one may. */
  readonly failsRequests: boolean
  /** A cluster may acknowledge a code that the replica which takes over has never heard of. */
  readonly losesCodes?: boolean
  /** @returns what is to be said of it beside the figures */
  readonly begin: (deployment: Deployment, sizes: Sizes) => Promise<string | undefined>
  /** Undoes what lasts; requests need not succeed before. */
  readonly end: (deployment: Deployment) => Promise<void>
}

export interface Sizes {
  readonly idleConnections: number
}

const SKEW_SECONDS = 300
const CLUSTER_TIMEOUT_MS = 30_000

/** More than there are empty ones. */
const LOG_FILES = 6

const nothing = async () => undefined
/** What has to be closed at the end of the scenario that runs. */
let open: Disposable | undefined

async function closeOpen(): Promise<void> {
  open?.[Symbol.dispose]()
  open = undefined
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'a process is killed (kill -9)',
    at: 'one Redis',
    failsRequests: true,
    begin: async ({ processes }) => void (await processes[1]?.kill()),
    end: async ({ start }) => await start(1),
  },
  {
    name: 'the processes are restarted in turn',
    at: 'one Redis',
    failsRequests: false,
    async begin({ processes, start }): Promise<undefined> {
      for (const index of [0, 1]) {
        await processes[index]?.stop()
        await start(index)
      }
    },
    end: nothing,
  },
  {
    name: 'Redis is killed, with an append-only file',
    at: 'one Redis',
    failsRequests: true,
    begin: async ({ redis }) => void (await redis.kill()),
    end: async ({ redis }) => await redis.restart(),
  },
  {
    name: 'Redis is frozen',
    at: 'one Redis',
    failsRequests: true,
    begin: async ({ redis }) => void redis.freeze(),
    end: async ({ redis }) => redis.thaw(),
  },
  {
    name: 'PostgreSQL is killed and started',
    at: 'one Redis',
    failsRequests: true,
    begin: async ({ postgres }) => void (await postgres.kill()),
    end: async ({ postgres }) => await postgres.restart(),
  },
  {
    name: 'PostgreSQL is frozen',
    at: 'one Redis',
    failsRequests: true,
    begin: async ({ postgres }) => void postgres.freeze(),
    end: async ({ postgres }) => postgres.thaw(),
  },
  {
    name: 'PostgreSQL takes no writes',
    at: 'one Redis',
    failsRequests: true,
    begin: async ({ databaseUrl }) =>
      void (await tell(databaseUrl, 'alter system set default_transaction_read_only = on')),
    end: async ({ databaseUrl }) =>
      await tell(databaseUrl, 'alter system reset default_transaction_read_only'),
  },
  {
    name: 'slow clients: heads, bodies, readers',
    at: 'one Redis',
    failsRequests: false,
    async begin({ addresses }) {
      const clients = await startSlowClients(addresses)
      open = clients
      return `${clients.count} slow clients`
    },
    end: closeOpen,
  },
  {
    name: 'idle connections',
    at: 'one Redis',
    failsRequests: false,
    async begin({ addresses }, { idleConnections }) {
      const idle = await openIdleConnections(addresses, idleConnections)
      open = idle
      return `${idle.count} connections`
    },
    end: closeOpen,
  },
  {
    name: 'clocks five minutes apart',
    at: 'one Redis',
    // The process whose clock is to be wrong is started anew, as in a rolling restart.
    failsRequests: false,
    async begin({ processes, start }) {
      await processes[1]?.stop()
      await start(1, withClock(SKEW_SECONDS))
      return undefined
    },
    async end({ processes, start }) {
      await processes[1]?.stop()
      await start(1)
    },
  },
  {
    name: 'a master of three is killed, its replica takes over',
    at: 'a cluster',
    failsRequests: true,
    losesCodes: true,
    async begin({ cluster }) {
      const [master, , , replica] = cluster?.nodes ?? []
      await master?.kill()
      const startedMs = performance.now()
      await eventually(CLUSTER_TIMEOUT_MS, async () => {
        const role = await replica?.ask('ROLE')
        if (!Array.isArray(role) || role[0] !== 'master') throw new Error('it has not taken over')
        const info = String(await replica?.ask('CLUSTER', 'INFO'))
        if (!info.includes('cluster_state:ok')) throw new Error(info)
      })
      return `taken over after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`
    },
    end: async ({ cluster }) => await cluster?.nodes[0]?.restart(),
  },
  {
    name: 'the disk of PostgreSQL is full',
    at: 'a small disk',
    failsRequests: true,
    async begin({ disk = '', databaseUrl }) {
      fillDisk(disk)
      // The next file of the log cannot be made, and the server ends itself as soon as it needs one.
      for (let i = 0; i < LOG_FILES; i += 1) {
        await tell(databaseUrl, 'select pg_switch_wal()').catch(() => {})
      }
      return (await answers(databaseUrl)) ? 'it goes on' : 'it ended itself'
    },
    async end({ disk = '', postgres, databaseUrl }) {
      emptyDisk(disk)
      // Whoever watches over a server starts one that has ended.
      if (!(await answers(databaseUrl))) await postgres.restart()
    },
  },
]

/** Sets something for every session of the server, of those that are open too. */
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
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    await client.end()
    return true
  } catch {
    return false
  }
}

/** The service on a machine whose clock is wrong, as in test/system/clocks.test.ts. */
function withClock(seconds: number): readonly string[] {
  const moved = `const true_ = globalThis.Date
const { now } = true_
const move = () => now() + ${seconds * 1000}
globalThis.Date = class Date extends true_ {
  constructor(...parts) { parts.length === 0 ? super(move()) : super(...parts) }
  static now() { return move() }
}`
  const preload = `data:text/javascript,${encodeURIComponent(moved)}`
  return [process.execPath, '--import', preload, 'src/main.ts']
}
