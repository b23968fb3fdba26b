import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Variables } from '../test/support/process.ts'
import { freePort } from '../test/support/programs.ts'
import type { Cores } from './cores.ts'
import { operations } from './operations.ts'
import type { Options } from './options.ts'
import { showProgress } from './progress.ts'
import { type Figures, type Measured, measureRounds } from './rounds.ts'
import { newPlace, type Stores, startOurs } from './servers.ts'
import { makeSupply } from './supply.ts'

const watched = ['refresh', 'userinfo'] as const
const OFF = 'off'

/** Returns the combinations of metrics and traces, with their environment variables. */
async function watchers(collector: string): Promise<readonly (readonly [string, Variables])[]> {
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_TRACES_SAMPLER: 'traceidratio' }
  return [
    [OFF, {}],
    ['metrics', { METRICS_PORT: String(await freePort()) }],
    ['traces of all', { ...traces, OTEL_TRACES_SAMPLER_ARG: '1' }],
    ['traces of one in a hundred', { ...traces, OTEL_TRACES_SAMPLER_ARG: '0.01' }],
    [
      'both',
      { ...traces, METRICS_PORT: String(await freePort()), OTEL_TRACES_SAMPLER_ARG: '0.01' },
    ],
  ]
}

/** Measures operations on servers that differ only in their metrics and traces. */
export async function measureWatched(
  stores: Stores,
  options: Options,
  cores: Cores | undefined,
): Promise<Figures> {
  await using opened = new AsyncDisposableStack()
  const collector = opened.use(await startSink())
  const storage = options.storages[0] ?? 'postgres-redis'
  const servers: Measured[] = []
  for (const [name, variables] of await watchers(collector.url)) {
    const place = { ...(await newPlace(storage, stores)), ...variables }
    const { url, pid } = opened.use(await startOurs(place, { cores }))
    servers.push({ name, kind: 'ours', url, pid, supply: await makeSupply(url, 'ours') })
  }
  const steps = (options.rounds + 1) * servers.length * watched.length
  const progress = showProgress('watched', steps)
  const figures = await measureRounds(servers, { ...options, operations: watched }, progress)
  progress.end()
  return figures
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

/** Renders these figures as a section of the page. */
export function watchedPart(figures: Figures) {
  const off = figures.get(OFF)
  return {
    title: 'With metrics and traces',
    text: 'Processor time per operation in microseconds, with metrics and traces ([operate](../how-to/operate.md#monitor-the-service)); in parentheses, relative to the row *off*.',
    rows: [
      ['µs', ...watched.map((name) => operations[name].title)],
      ...[...figures].map(([who, found]) => [
        who,
        ...watched.map((name) => {
          const { processorMicroseconds: cost = Number.NaN } = found.get(name) ?? {}
          const { processorMicroseconds: without = Number.NaN } = off?.get(name) ?? {}
          return `${cost.toFixed(0)} (${(cost / without).toFixed(2)})`
        }),
      ]),
    ],
  }
}
