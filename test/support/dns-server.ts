import { createSocket } from 'node:dgram'
import dns from 'node:dns/promises'
import { once } from 'node:events'

/** Starts a DNS server with TXT records (RFC 1035 §4). This process uses it until it is disposed of. */
export async function startNameServer(records: ReadonlyMap<string, string>) {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = []
    let end = 12
    for (let length = query[end] ?? 0; length > 0; length = query[end] ?? 0) {
      labels.push(query.toString('latin1', end + 1, end + 1 + length))
      end += length + 1
    }
    const question = query.subarray(12, end + 5)
    const text = records.get(labels.join('.').toLowerCase())
    const data = Buffer.from(text ?? '')
    const answer = Buffer.concat([
      // A pointer to the name of the question, TXT, IN, a lifetime of one second, and the length of the data.
      Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 1, 0, data.length + 1, data.length]),
      data,
    ])
    const flags = Buffer.from([0x81, text ? 0x80 : 0x83, 0, 1, 0, text ? 1 : 0, 0, 0, 0, 0])
    const parts = [query.subarray(0, 2), flags, question, ...(text ? [answer] : [])]
    socket.send(Buffer.concat(parts), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const before = dns.getServers()
  dns.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    [Symbol.dispose]() {
      dns.setServers(before)
      socket.close()
    },
  }
}
