import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Variables } from '../test/support/process.ts'
import { freePort } from '../test/support/programs.ts'
import type { Cores } from './cores.ts'
import { type OperationName, operations } from './operations.ts'
import type { Options } from './options.ts'
import { CONNECTIONS, makeSupply } from './prepared-tokens.ts'
import { showProgress } from './progress.ts'
import {
  CODES_PER_SECOND,
  type Figure,
  type Figures,
  loadOf,
  type Measured,
  measureRounds,
  median,
} from './rounds.ts'
import { newPlace, type Stores, startOurs } from './servers.ts'

const watched = ['refresh', 'userinfo'] as const
const shared = ['exchange', 'refresh', 'userinfo', 'introspection'] as const
const OFF = 'off'
export const ONE_WORKER = 'one process'
export const TWO_WORKERS = '`WORKERS=2`'
const TWO_SERVICES = 'two services'

/** The processor time of each operation, by server. */
export type Costs = Map<string, Map<OperationName, Pick<Figure, 'processorMicroseconds'>>>

/** Servers that differ only in environment variables: the name and the variables of each. */
type Variants = readonly (readonly [name: string, variables: Variables])[]

/** Measures operations with neither metrics nor traces, with each, and with both. */
export async function measureWatched(
  stores: Stores,
  options: Options,
  cores: Cores | undefined,
): Promise<Figures> {
  await using collector = await startSink()
  const traces = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'traceidratio',
  }
  const some = { ...traces, OTEL_TRACES_SAMPLER_ARG: '0.01' }
  const variants: Variants = [
    [OFF, {}],
    ['metrics', { METRICS_PORT: String(await freePort()) }],
    ['traces of all', { ...traces, OTEL_TRACES_SAMPLER_ARG: '1' }],
    ['traces of one in a hundred', some],
    ['both', { ...some, METRICS_PORT: String(await freePort()) }],
  ]
  return await measureVariants(stores, { ...options, operations: watched }, cores, variants)
}

/**
 * Measures operations with one process and with two, on one core. For comparison, also measures two services that share
 * nothing, each with half of the connections. Their additional time over one process is the cost of a second process.
 */
export async function measureWorkers(
  stores: Stores,
  options: Options,
  cores: Cores | undefined,
): Promise<Costs> {
  const variants: Variants = [
    [ONE_WORKER, {}],
    [TWO_WORKERS, { WORKERS: '2' }],
  ]
  // Each process compiles its hot functions anew, so a short measurement counts mostly compilation.
  const longer = { ...options, seconds: options.growthSeconds, operations: shared }
  const costs: Costs = await measureVariants(stores, longer, cores, variants)
  return costs.set(TWO_SERVICES, await measureTogether(stores, longer, cores))
}

/** Measures two services at the same time, each with half of the connections. */
async function measureTogether(stores: Stores, options: Options, cores: Cores | undefined) {
  await using opened = new AsyncDisposableStack()
  const both: Variants = [
    ['one', {}],
    ['other', {}],
  ]
  const servers = await openServers(opened, { stores, options, cores }, both)
  const { operations: names, rounds, seconds } = options
  const requests = CODES_PER_SECOND.many * seconds
  const stretch = { connections: CONNECTIONS / 2, requests, seconds }
  const costs = new Map<OperationName, { processorMicroseconds: number }>()
  const progress = showProgress(TWO_SERVICES, (rounds + 1) * names.length)
  for (const name of names) {
    const samples: number[] = []
    for (let round = 0; round <= rounds; round += 1) {
      progress.step(operations[name].title)
      // The first round warms the servers up, so it is twice as long.
      const longer =
        round === 0 ? { ...stretch, seconds: 2 * seconds, requests: 2 * requests } : stretch
      const loads = await Promise.all(servers.map((server) => loadOf(server, name, longer)))
      if (round > 0) samples.push(costOfAll(loads))
    }
    costs.set(name, { processorMicroseconds: median(samples) })
  }
  progress.end()
  return costs
}

/** Returns the processor time of a request, over all loads. */
function costOfAll(loads: readonly Awaited<ReturnType<typeof loadOf>>[]): number {
  const counts = loads.map(({ tookMs, failed }) => tookMs.length + failed)
  const used = loads.map((load, index) => load.processorMicroseconds * (counts[index] ?? 0))
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return sum(used) / sum(counts)
}

/** Measures the servers in turn, on the first storage of the options. */
async function measureVariants(
  stores: Stores,
  options: Options,
  cores: Cores | undefined,
  variants: Variants,
): Promise<Figures> {
  await using opened = new AsyncDisposableStack()
  const servers = await openServers(opened, { stores, options, cores }, variants)
  const steps = (options.rounds + 1) * servers.length * options.operations.length
  const progress = showProgress(variants.at(-1)?.[0] ?? '', steps)
  const figures = await measureRounds(servers, options, progress)
  progress.end()
  return figures
}

interface Openable {
  readonly stores: Stores
  readonly options: Options
  readonly cores: Cores | undefined
}

/** Starts a service for each variant. Disposing of `opened` stops them. */
async function openServers(
  opened: AsyncDisposableStack,
  { stores, options, cores }: Openable,
  variants: Variants,
): Promise<Measured[]> {
  const storage = options.storages[0] ?? 'postgres-redis'
  const servers: Measured[] = []
  for (const [name, variables] of variants) {
    const place = { ...(await newPlace(storage, stores)), ...variables }
    const { url, pid } = opened.use(await startOurs(place, { cores }))
    servers.push({ name, kind: 'ours', url, pid, supply: await makeSupply(url, 'ours') })
  }
  return servers
}

/** Starts a trace collector that discards all data. */
async function startSink(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Renders the figures measured with metrics and traces as a section of the page. */
export function watchedPart(figures: Costs) {
  return {
    title: 'With metrics and traces',
    text: 'Processor time per operation in microseconds, with metrics and traces ([operate](../how-to/operate.md#monitor-the-service)); in parentheses, relative to the row *off*.',
    rows: rowsOf(figures, watched),
  }
}

/** Renders the figures measured with several processes as a section of the page. */
export function workersPart(figures: Costs) {
  return {
    title: 'With several processes',
    text: 'Processor time of all processes per operation in microseconds, all on one core; in parentheses, relative to one process. *Two services* share nothing, and each has half of the connections. They show what a second process on the same core costs.',
    rows: rowsOf(figures, shared),
  }
}

/** Creates a row for each variant, with its time relative to the first one. */
function rowsOf(figures: Costs, names: readonly OperationName[]): string[][] {
  const [first] = figures.values()
  const timeOf = (found: typeof first, name: OperationName) =>
    found?.get(name)?.processorMicroseconds ?? Number.NaN
  return [
    ['µs', ...names.map((name) => operations[name].title)],
    ...[...figures].map(([who, found]) => [
      who,
      ...names.map((name) => {
        const cost = timeOf(found, name)
        return `${cost.toFixed(0)} (${(cost / timeOf(first, name)).toFixed(2)})`
      }),
    ]),
  ]
}
