import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import { isLoopbackInterface, leadsToThisMachine, loopbackAddress } from '../http/loopback.ts'
import { metricsPath } from '../http/paths.ts'
import { type ListeningAddress, listenAt } from '../process/server.ts'
import { aggregate, CONTENT_TYPE, openMetrics, renderSnapshots, type Snapshot } from './registry.ts'

/** Creates the metrics of a single process, and serves them on a separate port. */
export async function serveMetrics(address: ListeningAddress) {
  const metrics = openMetrics()
  const scrape = async () => await renderSnapshots([await metrics.snapshot()])
  const server = await openScrapeServer(address, scrape)
  return { metrics, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** The message with which the primary requests a snapshot. */
const QUESTION = 'metrics?'
/** How long a scrape waits for a busy worker before it uses the worker's last snapshot. */
const ANSWER_WITHIN_MS = 1_000

type Answer = { readonly kind: 'metrics'; readonly snapshot: Snapshot }

/** Creates the metrics of this worker. Sends them to the primary at start, on request and at exit. */
export function reportMetrics() {
  const metrics = openMetrics()
  const tell = async () => {
    const answer: Answer = { kind: 'metrics', snapshot: await metrics.snapshot() }
    await new Promise<void>((sent) => {
      if (process.connected) process.send?.(answer, undefined, {}, () => sent())
      else sent()
    })
  }
  process.on('message', (message: unknown) => {
    if (message === QUESTION) void tell()
  })
  void tell()
  return { metrics, [Symbol.asyncDispose]: tell }
}

/**
 * Serves the metrics of all workers from their primary, on a separate port. Keeps the counters and histograms of
 * workers that have exited, so no counter decreases when a worker is replaced.
 */
export async function serveHostMetrics(address: ListeningAddress): Promise<AsyncDisposable> {
  const latest = new Map<number, Snapshot>()
  const awaited = new Map<number, PromiseWithResolvers<void>>()
  let ended: Snapshot = []
  cluster.on('message', (worker, message: unknown) => {
    const { kind, snapshot } = Object(message) as Partial<Answer>
    if (kind !== 'metrics' || !snapshot) return
    latest.set(worker.id, snapshot)
    awaited.get(worker.id)?.resolve()
  })
  // Add sequentially, so concurrent exits do not overwrite each other's sum.
  let summing = Promise.resolve()
  cluster.on('exit', ({ id }) => {
    const last = latest.get(id)
    if (!last) return
    summing = summing.then(async () => {
      const sum = await aggregate([ended, last])
      ended = sum.filter(({ type }) => String(type) !== 'gauge')
      latest.delete(id)
      awaited.get(id)?.resolve()
    })
  })
  const ask = async (worker: Worker) => {
    const answered = Promise.withResolvers<void>()
    awaited.set(worker.id, answered)
    // Ignore send errors, because the `exit` listener resolves `answered` if the worker has just died.
    worker.send(QUESTION, () => {})
    await answered.promise
  }
  return await openScrapeServer(address, async () => {
    // A worker that has not sent metrics yet is still starting, so do not wait for it.
    const asked = Object.values(cluster.workers ?? {}).map(async (worker) => {
      if (worker && latest.has(worker.id) && worker.isConnected()) await ask(worker)
    })
    const timeLimit = delay(ANSWER_WITHIN_MS, undefined, { ref: false })
    await Promise.race([Promise.all(asked), timeLimit])
    await summing
    return await renderSnapshots([ended, ...latest.values()])
  })
}

const OTHER_NAME = `the Host header is not allowed; use a loopback host in the URL, such as ${loopbackAddress} or localhost\n`
const CONNECTIONS_MAX = 32
const REQUEST_MS = 5_000

/** Serves only `metricsPath`, for GET and HEAD. Needs no authentication, so no proxy should forward to this port. */
async function openScrapeServer(
  address: ListeningAddress,
  scrape: () => Promise<string>,
): Promise<AsyncDisposable> {
  const isLoopback = isLoopbackInterface(address.host)
  const server = createServer(async ({ headers, method, url }, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' })
      response.end(method === 'HEAD' ? '' : text)
    }
    // Prevent DNS rebinding: a request from a foreign page contains that page's host name.
    if (isLoopback && !isOwnName(headers.host)) return answer(403, OTHER_NAME)
    if (url?.split('?')[0] !== metricsPath) return answer(404, `not found; see ${metricsPath}\n`)
    if (method !== 'GET' && method !== 'HEAD') return answer(405, 'method not allowed; use GET\n')
    try {
      answer(200, await scrape(), CONTENT_TYPE)
    } catch {
      answer(500, 'the metrics could not be collected; try again\n')
    }
  })
  server.maxConnections = CONNECTIONS_MAX
  server.requestTimeout = server.headersTimeout = REQUEST_MS
  await listenAt(server, address, `Port ${address.port} on ${address.host}, for metrics,`)
  return {
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Whether a Host header names this machine. A missing header is accepted, because browsers always send it. */
function isOwnName(host: string | undefined): boolean {
  const hostname = host === undefined ? loopbackAddress : URL.parse(`http://${host}`)?.hostname
  return hostname !== undefined && leadsToThisMachine(hostname)
}
