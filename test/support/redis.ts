import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Redis } from 'ioredis'

import {
  eventually,
  freePort,
  type RunningProgram,
  removeAtExit,
  startProgram,
} from './programs.ts'

export interface RedisServer extends AsyncDisposable {
  /** Where other processes find it. */
  readonly url: string
  readonly port: number
  freeze(): void
  thaw(): void
  kill(): Promise<void>
  /** Starts it again on the same address, with nothing in it. */
  restart(): Promise<void>
  /** One command on a connection of its own, for a look behind the store. */
  ask(command: string, ...words: (string | number)[]): Promise<unknown>
}

/** A Redis server of one's own on a free port, which keeps nothing on disk. */
export async function startRedis(
  file: string,
  extraArguments: readonly string[] = [],
): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'))
  removeAtExit(folder)
  const port = await freePort()
  const start = () =>
    startProgram({
      file,
      arguments: [
        ...['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
        ...extraArguments,
      ],
      cwd: folder,
      readyWhen: /Ready to accept connections/,
    })
  let program: RunningProgram = await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    freeze: () => program.freeze(),
    thaw: () => program.thaw(),
    kill: () => program.kill(),
    async restart() {
      await program.kill()
      program = await start()
    },
    async ask(command, ...words) {
      const client = new Redis(port, '127.0.0.1')
      try {
        return await client.call(command, words)
      } finally {
        client.disconnect()
      }
    },
    async [Symbol.asyncDispose]() {
      await program.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly RedisServer[]
}

const SLOTS = 16_384
const MASTERS = 3

export interface ClusterOptions {
  /** A replica for each master, which takes over when its master is away for a second. */
  readonly replicas?: boolean
}

const NODE_TIMEOUT_MS = 1_000

/** Three masters that share the slots, and after them their replicas in the same order, if there are any. */
export async function startRedisCluster(
  file: string,
  { replicas = false }: ClusterOptions = {},
): Promise<RedisCluster> {
  const extra = ['--cluster-enabled', 'yes']
  if (replicas) extra.push('--cluster-node-timeout', `${NODE_TIMEOUT_MS}`)
  const count = replicas ? 2 * MASTERS : MASTERS
  const nodes = await Promise.all(Array.from({ length: count }, () => startRedis(file, extra)))
  const masters = nodes.slice(0, MASTERS)
  const share = Math.ceil(SLOTS / MASTERS)
  await Promise.all(
    masters.map((node, index) =>
      node.ask('CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min(SLOTS, (index + 1) * share) - 1),
    ),
  )
  const [first, ...others] = nodes
  await Promise.all(others.map(({ port }) => first?.ask('CLUSTER', 'MEET', '127.0.0.1', port)))
  await eventually(40_000, async () => {
    for (const node of nodes) {
      const info = String(await node.ask('CLUSTER', 'INFO'))
      if (!info.includes('cluster_state:ok')) throw new Error(info)
    }
  })
  await Promise.all(
    nodes.slice(MASTERS).map(async (replica, index) => await follow(replica, masters[index])),
  )
  return {
    nodes,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
    },
  }
}

/** Makes one the replica of the other, and waits until it has what the other has. */
async function follow(replica: RedisServer, master: RedisServer | undefined): Promise<void> {
  const id = String(await master?.ask('CLUSTER', 'MYID'))
  await eventually(40_000, async () => void (await replica.ask('CLUSTER', 'REPLICATE', id)))
  await eventually(40_000, async () => {
    const info = String(await replica.ask('INFO', 'replication'))
    if (!info.includes('master_link_status:up')) throw new Error(info)
  })
}
