import { once } from 'node:events'
import { createServer } from 'node:http'

import { isLoopbackInterface, leadsToThisMachine, loopbackAddress } from '../http/loopback.ts'
import { metricsPath } from '../http/paths.ts'
import { type ListeningAddress, listenAt } from '../process/server.ts'

const OTHER_NAME = `ask by a name of this machine, such as ${loopbackAddress}\n`
const CONNECTIONS_MAX = 32
const REQUEST_MS = 5_000

/**
 * Answers only `GET /metrics`. It has a port of its own, so that no proxy which publishes the service publishes
 * this, and no secret is needed.
 *
 * @param scrape the text of a scrape
 * @throws when it cannot listen there; a taken port in a sentence
 */
export async function openScrapeServer(
  address: ListeningAddress,
  contentType: string,
  scrape: () => Promise<string>,
): Promise<AsyncDisposable> {
  const ofThisMachine = isLoopbackInterface(address.host)
  const server = createServer(async (request, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' })
      response.end(request.method === 'HEAD' ? '' : text)
    }
    // A foreign page that rebinds its name to a loopback address sends that name.
    if (ofThisMachine && !isOwnName(request.headers.host)) return answer(403, OTHER_NAME)
    if (request.url?.split('?')[0] !== metricsPath) return answer(404, `see ${metricsPath}\n`)
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'only GET\n')
    try {
      answer(200, await scrape(), contentType)
    } catch {
      answer(500, 'the metrics could not be collected\n')
    }
  })
  server.maxConnections = CONNECTIONS_MAX
  server.requestTimeout = server.headersTimeout = REQUEST_MS
  await listenAt(server, address, `Port ${address.port} of ${address.host}, for metrics,`)
  return {
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Whether a Host header is a name of this machine. Browsers always send one. */
function isOwnName(host: string | undefined): boolean {
  const hostname = host === undefined ? loopbackAddress : URL.parse(`http://${host}`)?.hostname
  return hostname !== undefined && leadsToThisMachine(hostname)
}
