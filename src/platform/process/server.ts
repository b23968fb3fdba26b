/** The socket: what one connection may take, and how connections end. */

import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { Server as SocketServer } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** How long running requests may take after the process was asked to stop. */
const DRAIN_MS = 10_000
/**
 * How long a replaced process keeps idle connections. A request may be on its way on any of them, and what arrives
 * on a closed one is lost.
 */
const LINGER_MS = 5_000
/** The same for a process that was asked to stop, whose end is waited for. */
const STOP_LINGER_MS = 1_000
const READING_TURNS = 3
/** How long to wait for a moment in which no connection waits to be accepted. */
const ACCEPTING_MS = 2_000
/** A turn of the event loop is short if so many like it fit into the time waited. */
const SHORT_TURNS = 500

export interface ListeningAddress {
  readonly host: string
  readonly port: number
}

/** @throws when it cannot listen there; a taken port in a sentence */
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
  /** Resolves when every connection has ended, when the time is over, or when `cutShort` resolves. */
  const stopListening = async (lingerMs: number, ...cutShort: Promise<unknown>[]) => {
    const closed = once(server, 'close')
    await acceptThoseWaiting(server)
    // The close of an HTTP server would also end every connection that is idle at this moment.
    SocketServer.prototype.close.call(server)
    await Promise.race([closed, ...cutShort, delay(lingerMs, undefined, { ref: false })])
  }
  return {
    /**
     * Accepts no new connection, and goes on answering on the open ones with `Connection: close`. Resolves when none
     * is left, when none of them was used for five seconds, or when `cutShort` does.
     */
    async handOver(cutShort: Promise<unknown>): Promise<void> {
      leave()
      await stopListening(LINGER_MS, cutShort)
    },
    /**
     * Accepts no new connection, lets running requests finish, and cuts what is still open after ten seconds. Answers
     * have `Connection: close`, or clients would keep the connection and with it this process. An idle connection is
     * closed after a second: a request may be on its way on it.
     */
    async drain(): Promise<void> {
      leave()
      const closed = once(server, 'close')
      const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
      // A process that has handed over does not listen any more.
      if (server.listening) {
        await stopListening(STOP_LINGER_MS)
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

/** @throws when it cannot listen there; a taken port in a sentence */
export async function listenAt(
  server: SocketServer,
  { port, host }: ListeningAddress,
  called: string,
): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new Error(`${called} is taken by another program.`, { cause: error })
  })
}

/**
 * Waits until no connection waits to be accepted. One that waits when the listener closes is cut off, while a later
 * one is refused, and its client knows that nothing was done. Node accepts one connection in a turn of its loop, so
 * the listener closes right after a short turn without any.
 */
async function acceptThoseWaiting(server: ReturnType<typeof createServer>): Promise<void> {
  const beganMs = performance.now()
  let accepted = false
  const note = () => {
    accepted = true
  }
  server.on('connection', note)
  // The rest of this turn says nothing.
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
