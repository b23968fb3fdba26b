import { hostMetrics, tellPrimary } from './host-metrics.ts'
import { CONTENT_TYPE, type Metrics, openMetrics, render } from './registry.ts'
import { openScrapeServer, type ScrapeAddress } from './scrape-server.ts'

/** What a process has measured, until it ends. */
export interface ServedMetrics extends AsyncDisposable {
  readonly metrics: Metrics
}

/** The metrics of the one process that serves, at their own address. */
export async function serveMetrics(address: ScrapeAddress): Promise<ServedMetrics> {
  const metrics = openMetrics()
  const scrape = async () => await render([await metrics.snapshot()])
  const server = await openScrapeServer(address, CONTENT_TYPE, scrape)
  return { metrics, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** The metrics of one of several processes, which its primary asks for. */
export function tellMetrics(): ServedMetrics {
  const metrics = openMetrics()
  return { metrics, [Symbol.asyncDispose]: tellPrimary(metrics.snapshot) }
}

/** The metrics of all workers of a host, at their own address. */
export async function serveHostMetrics(address: ScrapeAddress): Promise<AsyncDisposable> {
  return await openScrapeServer(address, CONTENT_TYPE, hostMetrics().scrape)
}
