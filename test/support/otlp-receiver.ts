import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

import { listen } from './listen.ts'

/** Starts a receiver of traces, like a collector: OTLP over HTTP, in protobuf (opentelemetry-proto 1.x). */
export async function startOtlpReceiver() {
  const spans: ReturnType<typeof spansIn> = []
  const bodies: Buffer[] = []
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const isTraces = request.method === 'POST' && request.url === '/v1/traces'
    const isProtobuf = request.headers['content-type'] === 'application/x-protobuf'
    if (!isTraces || !isProtobuf) {
      response.writeHead(400).end()
      return
    }
    bodies.push(body)
    spans.push(...spansIn(body))
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  return { ...(await listen(server)), spans, bytes: () => Buffer.concat(bodies).toString('latin1') }
}

type Message = ReturnType<typeof read>

/** Returns the fields of a message by number. Varints are returned as numbers, all other values as bytes. */
function read(bytes: Buffer) {
  const fields = new Map<number, (Buffer | number)[]>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[at++]
      if (byte === undefined) throw new Error('a message ends within a number')
      value += (byte % 128) * unit
      if (byte < 128) return value
    }
  }
  const take = (length: number) => {
    at += length
    if (at > bytes.length) throw new Error('a message ends within a field')
    return bytes.subarray(at - length, at)
  }
  const readers = { 0: varint, 1: () => take(8), 2: () => take(varint()), 5: () => take(4) }
  while (at < bytes.length) {
    const tag = varint()
    const value = readers[(tag & 7) as keyof typeof readers]()
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}

function messages(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map((value) => read(value as Buffer))
}

function bytesOf(message: Message, field: number): Buffer {
  const [value] = message.get(field) ?? []
  return value instanceof Buffer ? value : Buffer.alloc(0)
}

function attributesOf(message: Message, field: number) {
  const pairs = messages(message, field).map((pair) => {
    const [value] = messages(pair, 2)
    const text = value === undefined ? '' : bytesOf(value, 1).toString()
    return [bytesOf(pair, 1).toString(), value?.get(3)?.[0] ?? text] as const
  })
  return Object.fromEntries(pairs)
}

function spansIn(body: Buffer) {
  return messages(read(body), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1)
    const known = resource ? attributesOf(resource, 1) : {}
    const spans = messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2))
    return spans.map((span) => ({
      traceId: bytesOf(span, 1).toString('hex'),
      spanId: bytesOf(span, 2).toString('hex'),
      /** Empty for a root span. */
      parentSpanId: bytesOf(span, 4).toString('hex'),
      name: bytesOf(span, 5).toString(),
      attributes: attributesOf(span, 9),
      resource: known,
    }))
  })
}
