import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import { paths } from '../../src/platform/http/paths.ts'

export type HardClients = Disposable & { readonly count: number }

const SLOW_OF_EACH_KIND = 100
const BYTE_EVERY_MS = 1_000
/** A slow reader requests several documents at once, and reads a byte a second. */
const ASKED_AT_ONCE = 4
/** Few at once, because the scenario tests the number of connections, not the rate. */
const CONNECTING_AT_ONCE = 50
const CONNECTING_PAUSE_MS = 10

/** Starts clients that send a head or a body, or read responses, byte by byte. */
export async function startSlowClients(addresses: readonly string[]): Promise<HardClients> {
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
      for (let count = 0; count < SLOW_OF_EACH_KIND; count += CONNECTING_AT_ONCE) {
        const opened = await openSockets(address, CONNECTING_AT_ONCE)
        for (const socket of opened) begin(socket)
        sockets.push(...opened)
      }
    }
  }
  return {
    count: sockets.length,
    [Symbol.dispose]() {
      for (const timer of timers) clearInterval(timer)
      for (const socket of sockets) socket.destroy()
    },
  }
}

export async function openIdleConnections(addresses: readonly string[], count: number) {
  const sockets: Socket[] = []
  for (const [index, address] of addresses.entries()) {
    const share = Math.floor((count + index) / addresses.length)
    while (sockets.length < share * (index + 1)) {
      const wanted = Math.min(CONNECTING_AT_ONCE, share * (index + 1) - sockets.length)
      const opened = await openSockets(address, wanted)
      for (const [position, socket] of opened.entries()) {
        if (position % 10 === 0) socket.write(`GET ${paths.health} HTTP/1.1\r\nHost: idle\r\n\r\n`)
      }
      sockets.push(...opened)
    }
  }
  return {
    count: sockets.length,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function openSockets(address: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(address)
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname))
  await Promise.all(sockets.map(async (socket) => void (await once(socket, 'connect'))))
  await delay(CONNECTING_PAUSE_MS)
  // Ignore errors, because the service may close the connections.
  for (const socket of sockets) socket.on('error', () => {}).resume()
  return sockets
}
