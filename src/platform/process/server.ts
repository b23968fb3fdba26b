/** The socket: what one connection may take, and how connections end. */

import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { Server as SocketServer } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** How long running requests have to finish once the process was asked to stop. */
const DRAIN_MS = 10_000

/**
 * How long a process that hands over to another keeps connections that nothing is asked on. A request
 * may be on its way on any of them, and what arrives on a closed one is lost.
 */
const LINGER_MS = 5_000

/** The same for one that was asked to stop, of which somebody waits for the end. */
const STOP_LINGER_MS = 1_000

const READING_TURNS = 3

/** How long a moment is waited for in which nobody waits to be accepted. */
const ACCEPTING_MS = 2_000
/** A turn of the event loop is short, at which hardly anybody can have come to wait, beside so many like it. */
const SHORT_TURNS = 500

/** A server that accepts connections. */
export interface PublicServer {
  /**
   * Takes no new connection and goes on answering on those that it has, each answer with the word that
   * its connection ends with it. Resolves when none is left, when none of those that are left was used
   * for five seconds, or when `cutShort` does.
   */
  handOver(cutShort: Promise<unknown>): Promise<void>
  /**
   * Takes no more connections, lets what runs finish, and cuts what is still open after ten seconds. Each
   * answer says that its connection ends with it, or a client would keep the connection, and
   * thereby this process, for as long as connections are kept. A connection on which nothing was asked is
   * closed after a second: a request may be on its way on it, as on each that was just accepted.
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
      await acceptThoseWaiting(server)
      // The close of an HTTP server would also end every connection that is idle at this moment.
      SocketServer.prototype.close.call(server)
      await Promise.race([closed, cutShort, delay(LINGER_MS, undefined, { ref: false })])
    },
    async drain() {
      leave()
      const closed = once(server, 'close')
      const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      // One that has handed over is past this.
      if (server.listening) {
        await acceptThoseWaiting(server)
        SocketServer.prototype.close.call(server)
        await Promise.race([closed, delay(STOP_LINGER_MS, undefined, { ref: false })])
        // What arrived while this process could not listen is read before anything is closed.
        for (let turn = 0; turn < READING_TURNS; turn += 1) await nextTurn()
      }
      server.close()
      server.keepAliveTimeout = 1
      await closed
      clearTimeout(cut)
    },
  }
}

/**
 * Whoever waits to be accepted when the listener closes is cut off without a word, while one that comes later
 * is refused, and knows that nothing was done. Node accepts one connection in a turn of its loop, so that some
 * may wait; the listener closes right after a short turn in which nobody did.
 */
async function acceptThoseWaiting(server: ReturnType<typeof createServer>): Promise<void> {
  const beganMs = performance.now()
  let accepted = false
  const note = () => {
    accepted = true
  }
  server.on('connection', note)
  // What is left of this turn says nothing.
  await nextTurn()
  for (let waitedMs = 0, isQuiet = false; !isQuiet && waitedMs < ACCEPTING_MS; ) {
    accepted = false
    await nextTurn()
    const tookMs = performance.now() - beganMs - waitedMs
    waitedMs += tookMs
    // The longer one waits, the longer may a turn be that is taken for short.
    isQuiet = !accepted && tookMs * SHORT_TURNS < waitedMs
  }
  server.off('connection', note)
}

/** Bounds what one connection may take; the engine and our routes bound bodies themselves. */
function limitConnections(server: ReturnType<typeof createServer>): void {
  server.requestTimeout = 30_000
  server.headersTimeout = 15_000
  server.keepAliveTimeout = 65_000
  server.maxRequestsPerSocket = 0
}
