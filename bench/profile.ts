import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Cores } from './cores.ts'
import { type OperationName, operations } from './operations.ts'
import { type Options, storages } from './options.ts'
import { CONNECTIONS, makeSupply, type Supply } from './prepared-tokens.ts'
import { newPlace, type Stores, startOurs } from './servers.ts'
import { type Load, runLoad } from './wire-client.ts'

const WARM_UP_SECONDS = 3
const SECONDS = 10
/** The number of single-use requests to prepare for each second. The load ends when they are used up. */
const PREPARED_PER_SECOND = 300
const ROWS_MAX = 40

/**
 * Runs one operation on each storage under the profiler of Node.js. Writes a folder of profiles for each storage, and
 * returns the time per request, by file or package.
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
    const supply = await makeSupply(service.url, 'ours')
    await runFor(WARM_UP_SECONDS, { name, url: service.url, supply })
    const { from, to, load } = await runFor(SECONDS, { name, url: service.url, supply })
    await service.stop()
    // Thread 0 is the main thread. Each hash thread has a profile of its own.
    const [file = ''] = globSync(join(folder, '*.0.*.cpuprofile'))
    const { tookMs, failed } = load
    texts.push(
      `${operations[name].title}, ${storages[storage]}: ${tookMs.length} requests, ${failed} refused, ${file}\n` +
        `${sumUp(JSON.parse(readFileSync(file, 'utf8')), { from, to, requests: tookMs.length })}\n`,
    )
  }
  return texts.join('\n')
}

/** A period, in microseconds on the clock of the profiler. */
interface Span {
  readonly from: number
  readonly to: number
}

async function runFor(
  seconds: number,
  { name, url, supply }: { name: OperationName; url: string; supply: Supply },
): Promise<Span & { readonly load: Load }> {
  const run = { connections: CONNECTIONS, requests: seconds * PREPARED_PER_SECOND }
  const sources = await operations[name].prepare(supply, run)
  const from = monotonicMicroseconds()
  const load = await runLoad(url, sources, { seconds })
  return { from, to: monotonicMicroseconds(), load }
}

function monotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
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
  readonly startTime: number
}

/** The file or package to which a call is attributed, and whether the called function belongs to Node.js. */
interface Origin {
  readonly name: string
  readonly inNode: boolean
}

/** Renders the microseconds per request, by file or package, the highest first. */
function sumUp(
  { nodes, samples, timeDeltas, startTime }: Profile,
  { from, to, requests }: Span & { readonly requests: number },
): string {
  const origins = originsOf(nodes)
  const sums = new Map<string, { all: number; inNode: number }>()
  let now = startTime
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0
    now += delta
    const origin = origins.get(id)
    if (now < from || now > to || !origin || origin.name === '(idle)') continue
    const sum = sums.get(origin.name) ?? { all: 0, inNode: 0 }
    sums.set(origin.name, sum)
    sum.all += delta
    if (origin.inNode) sum.inNode += delta
  }
  const each = (microseconds: number) => (microseconds / requests).toFixed(1).padStart(7)
  const total = [...sums.values()].reduce((total, { all }) => total + all, 0)
  const rows = [...sums].sort(([, a], [, b]) => b.all - a.all).slice(0, ROWS_MAX)
  return [
    `${each(total)} µs of a request, and of that in functions of node:`,
    ...rows.map(([name, { all, inNode }]) => `${each(all)} ${each(inNode)}  ${name}`),
  ].join('\n')
}

/** Attributes functions of Node.js to their callers. Each parent precedes its children in `nodes`. */
function originsOf(nodes: readonly Node[]): ReadonlyMap<number, Origin> {
  const origins = new Map<number, Origin>()
  const callers = new Map<number, string>()
  for (const { id, callFrame, children = [] } of nodes) {
    const own = originOf(callFrame)
    const name = own ?? callers.get(id) ?? 'node'
    origins.set(id, { name, inNode: own === undefined })
    // The root has no caller.
    if (name !== '(root)') for (const child of children) callers.set(child, name)
  }
  return origins
}

function originOf({ functionName, url }: Node['callFrame']): string | undefined {
  if (functionName.startsWith('(')) return functionName
  const dependency = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules)/.exec(url)?.[1]
  return dependency ?? /\/((?:src|views)\/.*)/.exec(url)?.[1]
}
