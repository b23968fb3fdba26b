import { createSocket } from 'node:dgram'
import dns from 'node:dns/promises'
import { once } from 'node:events'

/** The number of a record's type (1 for A, 16 for TXT, 28 for AAAA) and its data. */
export type DnsRecord = readonly [type: number, data: readonly number[]]

/** Starts a DNS server (RFC 1035 §4), which does not respond to queries for silent.example and names below it. */
export async function startNameServer(records: Readonly<Record<string, DnsRecord>>) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionIn(query)
    asked.push(name)
    if (name.endsWith('silent.example')) return
    const [ofType, data = []] = records[name] ?? []
    // A pointer to the name in the question, the type, class IN, a lifetime of one second, and the length of the data.
    const record = [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, data.length, ...data]
    const [count, answer] = ofType === type ? [1, record] : [0, []]
    const flags = [0x81, ofType === undefined ? 0x83 : 0x80, 0, 1, 0, count, 0, 0, 0, 0]
    const head = [...query.subarray(0, 2), ...flags, ...query.subarray(12, end)]
    socket.send(Buffer.from([...head, ...answer]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    asked,
    address: `127.0.0.1:${socket.address().port}`,
    [Symbol.dispose]: () => void socket.close(),
  }
}

/** Makes this process use a DNS server with these TXT records. Disposal restores the previous servers. */
export async function useTextRecords(texts: Readonly<Record<string, string>>) {
  const recordOf = (text: string): DnsRecord => [16, [text.length, ...Buffer.from(text)]]
  const records = Object.entries(texts).map(([name, text]) => [name, recordOf(text)] as const)
  const server = await startNameServer(Object.fromEntries(records))
  const before = dns.getServers()
  dns.setServers([server.address])
  return {
    [Symbol.dispose]() {
      dns.setServers(before)
      server[Symbol.dispose]()
    },
  }
}

function questionIn(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}
