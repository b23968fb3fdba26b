import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Cores } from './cores.ts'
import { type OperationName, operations } from './operations.ts'
import { type Options, storages } from './options.ts'
import { loadOf } from './rounds.ts'
import { newPlace, type Stores, startOurs } from './servers.ts'
import { CONNECTIONS, makeSupply } from './supply.ts'

const SECONDS = 10
const ROWS_MAX = 25

/**
 * Runs one operation on each storage under node's profiler, keeps the profile for a viewer
 * (profiles/*.cpuprofile), and gives where the time went, package by package. Its start and the
 * sign-ins before are part of it, and small beside ten seconds of load.
 */
export async function profile(
  stores: Stores,
  name: OperationName,
  { chosen, cores }: { chosen: Options['storages']; cores: Cores | undefined },
): Promise<string> {
  const texts: string[] = []
  for (const storage of chosen) {
    const folder = join('profiles', `${storage}-${name}-${Date.now()}`)
    mkdirSync(folder, { recursive: true })
    const nodeFlags = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
    await using service = await startOurs(await newPlace(storage, stores), { cores, nodeFlags })
    const { url, pid } = service
    const supply = await makeSupply(url, 'ours')
    const server = { name: storages[storage], kind: 'ours', url, pid, supply } as const
    const run = { connections: CONNECTIONS, requests: SECONDS * 700, seconds: SECONDS }
    const { tookMs } = await loadOf(server, name, run)
    await service.stop()
    const [file = ''] = globSync(join(folder, '*.cpuprofile'))
    texts.push(
      `${operations[name].title}, ${storages[storage]}: ${tookMs.length} requests, ${file}\n` +
        `${sumUp(readFileSync(file, 'utf8'), tookMs.length)}\n`,
    )
  }
  return texts.join('\n')
}

interface Node {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

interface Profile {
  readonly nodes: readonly Node[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Microseconds of a request by package, the most expensive first. */
function sumUp(text: string, requests: number): string {
  const { nodes, samples, timeDeltas }: Profile = JSON.parse(text)
  const origins = originsOf(nodes)
  const sums = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const origin = origins.get(id) ?? ''
    sums.set(origin, (sums.get(origin) ?? 0) + (timeDeltas[index] ?? 0))
  }
  return [...sums]
    .filter(([origin]) => origin !== '(idle)')
    .sort(([, a], [, b]) => b - a)
    .slice(0, ROWS_MAX)
    .map(([origin, sum]) => `${(sum / requests).toFixed(1).padStart(8)} µs  ${origin}`)
    .join('\n')
}

/** What node itself does is counted for whoever called it. A parent stands before its children. */
function originsOf(nodes: readonly Node[]): ReadonlyMap<number, string> {
  const origins = new Map<number, string>()
  const inherited = new Map<number, string>()
  for (const { id, callFrame, children = [] } of nodes) {
    const origin = originOf(callFrame) ?? inherited.get(id) ?? 'node'
    origins.set(id, origin)
    for (const child of children) inherited.set(child, origin)
  }
  // The root is nobody's caller.
  return new Map([...origins].map(([id, origin]) => [id, origin === '(root)' ? 'node' : origin]))
}

function originOf({ functionName, url }: Node['callFrame']): string | undefined {
  if (functionName.startsWith('(')) return functionName
  const dependency = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules)/.exec(url)?.[1]
  return dependency ?? /\/(src\/[^/]+|views)/.exec(url)?.[1]
}
