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

/** Three masters that share the slots. */
export async function startRedisCluster(file: string): Promise<RedisCluster> {
  const nodes = await Promise.all(
    [0, 1, 2].map(() => startRedis(file, ['--cluster-enabled', 'yes'])),
  )
  const share = Math.ceil(SLOTS / nodes.length)
  await Promise.all(
    nodes.map((node, index) =>
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
  return {
    nodes,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))
    },
  }
}
