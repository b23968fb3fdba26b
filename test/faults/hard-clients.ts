import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import { paths } from '../../src/platform/http/paths.ts'

export type HardClients = ReturnType<typeof clientsOf>

const SLOW_OF_EACH_KIND = 100
const BYTE_EVERY_MS = 1_000
/** The number of documents that a slow reader requests at once. It reads a byte a second. */
const ASKED_AT_ONCE = 4
/** Connect in small groups, because the scenario tests the number of connections, not the rate. */
const CONNECTING_AT_ONCE = 50
const CONNECTING_PAUSE_MS = 10

/** Starts clients that send a head or a body, or read responses, byte by byte. */
export async function startSlowClients(addresses: readonly string[]) {
  const sockets: Socket[] = []
  const timers: NodeJS.Timeout[] = []
  const drip = (socket: Socket, bytes: string) => {
    let position = 0
    const send = () => void (socket.writable && socket.write(bytes.charAt(position++)))
    timers.push(setInterval(send, BYTE_EVERY_MS))
  }
  const kinds = [
    (socket: Socket) => drip(socket, `GET ${paths.jwks} HTTP/1.1\r\nHost: slow\r\n`.repeat(9)),
    (socket: Socket) => {
      socket.write(`POST ${paths.token} HTTP/1.1\r\nHost: slow\r\nContent-Length: 5000\r\n`)
      socket.write('Content-Type: application/x-www-form-urlencoded\r\n\r\n')
      drip(socket, 'grant_type=refresh_token&'.repeat(100))
    },
    (socket: Socket) => {
      socket.pause()
      socket.write(`GET ${paths.openApi} HTTP/1.1\r\nHost: slow\r\n\r\n`.repeat(ASKED_AT_ONCE))
      timers.push(setInterval(() => void socket.read(1), BYTE_EVERY_MS))
    },
  ]
  for (const address of addresses) {
    for (const begin of kinds) {
      const opened = await openSockets(address, SLOW_OF_EACH_KIND)
      for (const socket of opened) begin(socket)
      sockets.push(...opened)
    }
  }
  return clientsOf(sockets, timers)
}

/** Opens connections, one in ten of which sends a request. */
export async function openIdleConnections(addresses: readonly string[], count: number) {
  const share = Math.floor(count / addresses.length)
  const opened = await Promise.all(addresses.map((address) => openSockets(address, share)))
  const sockets = opened.flat()
  for (const [position, socket] of sockets.entries())
    if (position % 10 === 0) socket.write(`GET ${paths.health} HTTP/1.1\r\nHost: idle\r\n\r\n`)
  return clientsOf(sockets)
}

function clientsOf(sockets: readonly Socket[], timers: readonly NodeJS.Timeout[] = []) {
  return {
    count: sockets.length,
    [Symbol.dispose]() {
      for (const timer of timers) clearInterval(timer)
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function openSockets(address: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(address)
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const opening = Math.min(CONNECTING_AT_ONCE, count - sockets.length)
    const opened = Array.from({ length: opening }, () => connect(Number(port), hostname))
    await Promise.all(opened.map(async (socket) => void (await once(socket, 'connect'))))
    // Ignore errors, because the service may close the connections.
    for (const socket of opened) socket.on('error', () => {}).resume()
    sockets.push(...opened)
    await delay(CONNECTING_PAUSE_MS)
  }
  return sockets
}
