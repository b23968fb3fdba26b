import { once } from 'node:events'
import { createServer } from 'node:net'

import type { Config } from '../../config/config.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { metricsPath } from '../../platform/http/paths.ts'
import { type Finding, found, ok } from '../doctor/checks.ts'

const REACH_TIMEOUT_MS = 2_000

/** What `doctor` says of metrics and traces, where they are on. */
export async function lookAtMonitoring({
  metricsAddress,
  traces,
}: Pick<Config, 'metricsAddress' | 'traces'>): Promise<Finding[]> {
  return [
    ...(metricsAddress ? await ofMetrics(metricsAddress) : []),
    ...(traces ? [await ofCollector(traces)] : []),
  ]
}

async function ofMetrics(address: NonNullable<Config['metricsAddress']>): Promise<Finding[]> {
  const { host, port } = address
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const judged = await ofPort(address, url)
  if (isLoopbackUrl(url)) return [judged]
  return [judged, found('metrics.exposed', `Whoever reaches ${url} can read the metrics`)]
}

/** A service that runs has the port, and answers there; anybody else must not have it. */
async function ofPort(
  { host, port }: { host: string; port: number },
  url: string,
): Promise<Finding> {
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
    server.close()
    return ok(`Metrics can be served at ${url}${metricsPath}.`)
  } catch (error) {
    const code = Object(error).code
    if (code === 'EADDRINUSE' && (await answersMetrics(url))) {
      return ok(`A service answers at ${url}${metricsPath}.`)
    }
    const why = code === 'EADDRINUSE' ? 'another program has that port' : String(code)
    return found('metrics.port', `Metrics cannot be served at ${url}${metricsPath}: ${why}`)
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
async function ofCollector({ address }: NonNullable<Config['traces']>): Promise<Finding> {
  const { origin } = new URL(address)
  try {
    const headers = { 'content-type': 'application/x-protobuf' }
    const signal = AbortSignal.timeout(REACH_TIMEOUT_MS)
    const { status } = await fetch(address, { method: 'POST', headers, body: '', signal })
    // It may ask for a key that only the exporter knows.
    if (status < 500 && status !== 404) {
      return ok(`The collector of traces at ${origin} answers.`)
    }
    return found('traces.collector', `The collector of traces at ${origin} answers ${status}`)
  } catch {
    return found('traces.collector', `The collector of traces at ${origin} cannot be reached`)
  }
}
