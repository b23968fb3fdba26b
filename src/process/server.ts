/** The socket: what one connection may take, and how connections end. */

import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { Server as SocketServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** How long running requests have to finish once the process was asked to stop. */
const DRAIN_MS = 10_000

/**
 * How long a process that hands over to another keeps connections that nothing is asked on. A request
 * may be on its way on any of them, and what arrives on a closed one is lost.
 */
const LINGER_MS = 5_000

/** A server that accepts connections. */
export interface PublicServer {
  /**
   * Takes no new connection and goes on answering on those that it has, each answer with the word that
   * its connection ends with it. Resolves when none is left, when none of those that are left was used
   * for five seconds, or when `cutShort` does.
   */
  handOver(cutShort: Promise<unknown>): Promise<void>
  /**
   * Takes no more work, lets what runs finish, and cuts what is still open after ten seconds. Each
   * running answer says that its connection ends with it, or a client would keep the connection, and
   * thereby this process, for as long as connections are kept.
   */
  drain(): Promise<void>
}

/** @throws when it cannot listen there; a taken port is said in a sentence */
export async function openServer(
  handler: () => RequestListener,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<PublicServer> {
  let leaving = false
  const running = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    running.add(response)
    response.once('close', () => running.delete(response))
    if (leaving) response.setHeader('Connection', 'close')
    handler()(request, response)
  })
  limitConnections(server)
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new Error(`Port ${port} of ${host} is taken by another program.`, { cause: error })
  })
  const leave = () => {
    leaving = true
    for (const response of running) {
      if (!response.headersSent) response.setHeader('Connection', 'close')
    }
  }
  return {
    async handOver(cutShort) {
      leave()
      const closed = once(server, 'close')
      // The close of an HTTP server would also end every connection that is idle at this moment.
      SocketServer.prototype.close.call(server)
      await Promise.race([closed, cutShort, delay(LINGER_MS, undefined, { ref: false })])
    },
    async drain() {
      leave()
      const closed = once(server, 'close')
      server.close()
      server.keepAliveTimeout = 1
      const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      await closed
      clearTimeout(cut)
    },
  }
}

/** Bounds what one connection may take; the engine and our routes bound bodies themselves. */
function limitConnections(server: ReturnType<typeof createServer>): void {
  server.requestTimeout = 30_000
  server.headersTimeout = 15_000
  server.keepAliveTimeout = 65_000
  server.maxRequestsPerSocket = 0
}
