/** The HTTP server: timeouts, shutdown and hand-over to a new process. */

import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { Server as SocketServer } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** How long requests may continue after the signal to stop. */
const DRAIN_MS = 10_000
/** How long a replaced process keeps idle connections open. Closing them at once could lose a request in flight. */
const LINGER_MS = 5_000
/** How long a stopping process keeps idle connections open. Shorter, because an operator is waiting for it to exit. */
const STOP_LINGER_MS = 1_000
const READING_TURNS = 3
/** The maximum time to accept queued connections before the listener closes. */
const ACCEPTING_MS = 2_000
/** A turn of the event loop counts as short if it took less than 1/SHORT_TURNS of the time waited. */
const SHORT_TURNS = 500

export interface ListeningAddress {
  readonly host: string
  readonly port: number
}

/** Opens the HTTP server. @throws if the port cannot be opened; if the port is in use, the message says what to do */
export async function openServer(handler: () => RequestListener, address: ListeningAddress) {
  let leaving = false
  const running = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    running.add(response)
    response.once('close', () => running.delete(response))
    if (leaving) response.setHeader('Connection', 'close')
    handler()(request, response)
  })
  // Set only timeouts, because the engine and our routes limit the length of request bodies.
  server.requestTimeout = 30_000
  server.headersTimeout = 15_000
  server.keepAliveTimeout = 65_000
  await listenAt(server, address, `Port ${address.port} on ${address.host}`)
  const leave = () => {
    leaving = true
    for (const response of running) {
      if (!response.headersSent) response.setHeader('Connection', 'close')
    }
  }
  /**
   * Accepts queued connections, then stops listening. Resolves when all connections are closed, after `lingerMs`, or
   * when a promise in `cutShort` resolves.
   */
  const stopListening = async (lingerMs: number, ...cutShort: Promise<unknown>[]) => {
    const closed = once(server, 'close')
    await acceptWaiting(server)
    // `server.close` would also close idle connections.
    SocketServer.prototype.close.call(server)
    await Promise.race([closed, ...cutShort, delay(lingerMs, undefined, { ref: false })])
  }
  return {
    /**
     * Stops accepting connections and sends `Connection: close` on open connections. Resolves when all connections are
     * closed, after five seconds, or when `cutShort` resolves.
     */
    async handOver(cutShort: Promise<unknown>): Promise<void> {
      leave()
      await stopListening(LINGER_MS, cutShort)
    },
    /**
     * Stops accepting connections, finishes running requests, and closes the remaining connections after ten seconds.
     * Responses have `Connection: close`; otherwise, clients could keep this process alive. Idle connections stay
     * open for a second, because a request may be in flight.
     */
    async drain(): Promise<void> {
      leave()
      const closed = once(server, 'close')
      const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      // After a hand-over, this process is no longer listening.
      if (server.listening) {
        await stopListening(STOP_LINGER_MS)
        // First read the data that has already arrived.
        for (let turn = 0; turn < READING_TURNS; turn += 1) await nextTurn()
      }
      server.close()
      server.keepAliveTimeout = 1
      await closed
      clearTimeout(cut)
    },
  }
}

/** Starts listening. @throws if the port cannot be opened; if the port is in use, the message says what to do */
export async function listenAt(
  server: SocketServer,
  { port, host }: ListeningAddress,
  called: string,
): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new Error(
      `${called} is in use by another program. Stop that program, or choose another port.`,
      { cause: error },
    )
  })
}

/**
 * Accepts the queued connections, for up to ACCEPTING_MS. Closing the listener would reset them. Later connections are
 * refused, so clients can safely retry. Node accepts one connection per turn of the event loop, so the queue is
 * empty after a short turn without a connection.
 */
async function acceptWaiting(server: ReturnType<typeof createServer>): Promise<void> {
  const beganMs = performance.now()
  let accepted = false
  const note = () => {
    accepted = true
  }
  server.on('connection', note)
  // Ignore the rest of the current turn, which began before this call.
  await nextTurn()
  for (let waitedMs = 0, isQuiet = false; !isQuiet && waitedMs < ACCEPTING_MS; ) {
    accepted = false
    await nextTurn()
    const tookMs = performance.now() - beganMs - waitedMs
    waitedMs += tookMs
    // The longer this function has waited, the longer a turn may take and still count as short.
    isQuiet = !accepted && tookMs * SHORT_TURNS < waitedMs
  }
  server.off('connection', note)
}
