import { rmSync } from 'node:fs'

import { Redis } from 'ioredis'

import { eventually, freePort, startProgram, temporaryFolder } from './programs.ts'

export type RedisServer = Awaited<ReturnType<typeof startRedis>>

/** Starts a Redis server on a free port. By default, the server keeps nothing on disk. */
export async function startRedis(file: string, extraArguments: readonly string[] = []) {
  const folder = temporaryFolder()
  const port = await freePort()
  const own = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const program = await startProgram({
    ...{ file, arguments: [...own, ...extraArguments], cwd: folder },
    readyWhen: /Ready to accept connections/,
  })
  return {
    ...program,
    url: `redis://127.0.0.1:${port}`,
    port,
    async ask(command: string, ...words: (string | number)[]): Promise<unknown> {
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

const SLOTS = 16_384
const MASTERS = 3

/** Starts a cluster of three masters that share the slots. `replicas` adds a replica of each, for failover. */
export async function startRedisCluster(file: string, { replicas = false } = {}) {
  const extra = ['--cluster-enabled', 'yes']
  if (replicas) extra.push('--cluster-node-timeout', '1000')
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
  for (const node of nodes) await says(node, 'cluster_state:ok', 'CLUSTER', 'INFO')
  await Promise.all(
    nodes.slice(MASTERS).map(async (replica, index) => {
      const id = String(await masters[index]?.ask('CLUSTER', 'MYID'))
      await eventually(40_000, () => replica.ask('CLUSTER', 'REPLICATE', id))
      await says(replica, 'master_link_status:up', 'INFO', 'replication')
    }),
  )
  return {
    /** Masters first, then their replicas in the same order. */
    nodes,
    addresses: nodes.map(({ port }) => `127.0.0.1:${port}`),
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
    },
  }
}

async function says(node: RedisServer, words: string, ...command: [string, string]): Promise<void> {
  await eventually(40_000, async () => {
    const info = String(await node.ask(...command))
    if (!info.includes(words)) throw new Error(info)
  })
}
