/** The HTTP server: the limits of a connection, and how connections end. */

import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { Server as SocketServer } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** How long running requests may continue after the signal to stop. */
const DRAIN_MS = 10_000
/**
 * How long a replaced process keeps idle connections. A request may be in flight on any of them, and would be lost
 * on a closed one.
 */
const LINGER_MS = 5_000
/** The same for a process that is stopping, because an operator waits for it. */
const STOP_LINGER_MS = 1_000
const READING_TURNS = 3
/** The time limit for accepting queued connections before the listener closes. */
const ACCEPTING_MS = 2_000
/** A turn of the event loop is short if this many fit into the time waited. */
const SHORT_TURNS = 500

export interface ListeningAddress {
  readonly host: string
  readonly port: number
}

/** @throws if the port is taken, with a sentence for the operator, or cannot be opened */
export async function openServer(handler: () => RequestListener, address: ListeningAddress) {
  let leaving = false
  const running = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    running.add(response)
    response.once('close', () => running.delete(response))
    if (leaving) response.setHeader('Connection', 'close')
    handler()(request, response)
  })
  // The engine and our routes limit bodies themselves.
  server.requestTimeout = 30_000
  server.headersTimeout = 15_000
  server.keepAliveTimeout = 65_000
  server.maxRequestsPerSocket = 0
  await listenAt(server, address, `Port ${address.port} of ${address.host}`)
  const leave = () => {
    leaving = true
    for (const response of running) {
      if (!response.headersSent) response.setHeader('Connection', 'close')
    }
  }
  /** Resolves when every connection has ended, after `lingerMs`, or when `cutShort` resolves. */
  const stopListening = async (lingerMs: number, ...cutShort: Promise<unknown>[]) => {
    const closed = once(server, 'close')
    await acceptWaiting(server)
    // The method of the HTTP server would also close idle connections.
    SocketServer.prototype.close.call(server)
    await Promise.race([closed, ...cutShort, delay(lingerMs, undefined, { ref: false })])
  }
  return {
    /**
     * Accepts no new connection, and answers on the open ones with `Connection: close`. Resolves when none is left,
     * after five seconds, or when `cutShort` does.
     */
    async handOver(cutShort: Promise<unknown>): Promise<void> {
      leave()
      await stopListening(LINGER_MS, cutShort)
    },
    /**
     * Accepts no new connection, finishes running requests, and closes the remaining connections after ten seconds.
     * Answers have `Connection: close`, or clients would keep this process alive. Idle connections stay open for a
     * second, because a request may be in flight.
     */
    async drain(): Promise<void> {
      leave()
      const closed = once(server, 'close')
      const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      // After a hand-over the process no longer listens.
      if (server.listening) {
        await stopListening(STOP_LINGER_MS)
        // Read what has arrived before anything is closed.
        for (let turn = 0; turn < READING_TURNS; turn += 1) await nextTurn()
      }
      server.close()
      server.keepAliveTimeout = 1
      await closed
      clearTimeout(cut)
    },
  }
}

/** @throws if the port is taken, with a sentence for the operator, or cannot be opened */
export async function listenAt(
  server: SocketServer,
  { port, host }: ListeningAddress,
  called: string,
): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new Error(
      `${called} is taken by another program. Stop that program, or choose another port.`,
      { cause: error },
    )
  })
}

/**
 * Waits until no connection waits to be accepted. Closing the listener resets waiting connections, while later ones
 * are refused and can safely be retried. Node accepts one connection per turn of the event loop, so the listener
 * closes right after a short turn without any.
 */
async function acceptWaiting(server: ReturnType<typeof createServer>): Promise<void> {
  const beganMs = performance.now()
  let accepted = false
  const note = () => {
    accepted = true
  }
  server.on('connection', note)
  // The rest of this turn proves nothing.
  await nextTurn()
  for (let waitedMs = 0, isQuiet = false; !isQuiet && waitedMs < ACCEPTING_MS; ) {
    accepted = false
    await nextTurn()
    const tookMs = performance.now() - beganMs - waitedMs
    waitedMs += tookMs
    // The longer the wait, the longer a turn may be that counts as short.
    isQuiet = !accepted && tookMs * SHORT_TURNS < waitedMs
  }
  server.off('connection', note)
}
