import type { Logger } from 'pino'

import type { ListeningAddress } from '../process/server.ts'
import type { TraceSettings } from './traces.ts'
import type { Watchers } from './watch.ts'

interface WatcherSettings {
  readonly metricsAddress: ListeningAddress | undefined
  readonly traces: TraceSettings | undefined
  /** Whether the primary of this process serves the metrics. */
  readonly isWorker: boolean
  readonly log: Logger
}

/** Opens the configured watchers of a process, and loads no others. */
export async function openWatchers(settings: WatcherSettings): Promise<Watchers & AsyncDisposable> {
  const { metricsAddress, isWorker, log } = settings
  await using opening = new AsyncDisposableStack()
  let metrics: Watchers['metrics']
  if (metricsAddress) {
    const { serveMetrics, tellMetrics } = await import('./serve-metrics.ts')
    metrics = opening.use(isWorker ? tellMetrics() : await serveMetrics(metricsAddress)).metrics
  }
  const traces = settings.traces && (await import('./traces.ts')).openTraces(settings.traces, log)
  if (traces) opening.use(traces)
  const open = opening.move()
  return { metrics, traces, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Serves the metrics of all workers of a host, in their primary. */
export async function openHostMetrics(
  address: ListeningAddress | undefined,
): Promise<AsyncDisposable | undefined> {
  if (!address) return undefined
  const { serveHostMetrics } = await import('./serve-metrics.ts')
  return await serveHostMetrics(address)
}
