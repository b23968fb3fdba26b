import { once } from 'node:events'
import { createServer } from 'node:net'

import type { Config } from '../config/config.ts'
import { isLoopbackUrl } from '../http/loopback.ts'
import { metricsPath } from '../http/paths.ts'

const REACH_TIMEOUT_MS = 2_000

/** What `doctor` says of metrics and traces, where they are on. */
export async function monitoringSentences({
  metricsAddress,
  traces,
}: Pick<Config, 'metricsAddress' | 'traces'>) {
  return [
    ...(metricsAddress ? await ofMetrics(metricsAddress) : []),
    ...(traces ? [await ofCollector(traces)] : []),
  ]
}

type Said = { readonly kind: 'ok' | 'note' | 'wrong'; readonly sentence: string }

async function ofMetrics(address: NonNullable<Config['metricsAddress']>): Promise<Said[]> {
  const { host, port } = address
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const found: Said[] = [await ofPort(address, url)]
  if (isLoopbackUrl(url)) return found
  const sentence = `Whoever reaches ${url} can read the metrics; let a firewall admit Prometheus alone.`
  return [...found, { kind: 'note', sentence }]
}

/** A service that runs has the port, and answers there; anybody else must not have it. */
async function ofPort({ host, port }: { host: string; port: number }, url: string): Promise<Said> {
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
    server.close()
    return { kind: 'ok', sentence: `Metrics can be served at ${url}${metricsPath}.` }
  } catch (error) {
    const code = Object(error).code
    if (code === 'EADDRINUSE' && (await answersMetrics(url))) {
      return { kind: 'ok', sentence: `A service answers at ${url}${metricsPath}.` }
    }
    const why = code === 'EADDRINUSE' ? 'another program has that port' : String(code)
    return { kind: 'wrong', sentence: `Metrics cannot be served at ${url}${metricsPath}: ${why}.` }
  }
}

async function answersMetrics(url: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(REACH_TIMEOUT_MS)
    const response = await fetch(`${url}${metricsPath}`, { signal })
    return (await response.text()).includes('gatehouse_build_info')
  } catch {
    return false
  }
}

/** An empty batch, which every collector takes. */
async function ofCollector({ address }: NonNullable<Config['traces']>): Promise<Said> {
  const { origin } = new URL(address)
  try {
    const headers = { 'content-type': 'application/x-protobuf' }
    const signal = AbortSignal.timeout(REACH_TIMEOUT_MS)
    const { status } = await fetch(address, { method: 'POST', headers, body: '', signal })
    // It may ask for a key that only the exporter knows.
    if (status < 500 && status !== 404) {
      return { kind: 'ok', sentence: `The collector of traces at ${origin} answers.` }
    }
    return { kind: 'wrong', sentence: `The collector of traces at ${origin} answers ${status}.` }
  } catch {
    return { kind: 'wrong', sentence: `The collector of traces at ${origin} cannot be reached.` }
  }
}
