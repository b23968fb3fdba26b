/**
 * A minimal HTTP/1.1 client. It uses raw sockets, because Node's HTTP client costs several times as much as the
 * measured responses. It supports only the features that the servers use: Content-Length, chunks and persistent
 * connections.
 */

import { connect, type Socket } from 'node:net'

/** The requests of one connection. */
export interface Source {
  /** Returns the next request of the connection; undefined if there is none left. */
  next(): Buffer | undefined
  /** Receives the body of each response with status 200. */
  learn?(body: string): void
}

/** The results of a load. */
export interface Load {
  /** The duration of each request whose response has status 200, unsorted. */
  readonly tookMs: readonly number[]
  readonly elapsedSeconds: number
  readonly failed: number
  /** The first response with another status, for error messages. */
  readonly firstFailure: string | undefined
  /** The size of the last response with status 200, with its header. */
  readonly answerBytes: number
}

/** The parts of a request. */
export interface RequestText {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export function requestBytes(
  host: string,
  { method, path, headers = {}, body }: RequestText,
): Buffer {
  const fields = {
    host,
    ...headers,
    ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

/** The factor by which a load may be extended while it has too few responses. */
const PATIENCE = 5

/** Runs each source on its own connection, one request at a time. Runs longer if there are too few responses. */
export async function runLoad(
  url: string,
  sources: readonly Source[],
  { seconds, answersMin = 0 }: { readonly seconds: number; readonly answersMin?: number },
): Promise<Load> {
  const { hostname, port } = new URL(url)
  const startedAtMs = performance.now()
  const load = new RunningLoad((answers) => {
    const elapsedSeconds = (performance.now() - startedAtMs) / 1000
    return elapsedSeconds >= seconds * (answers < answersMin ? PATIENCE : 1)
  })
  await Promise.all(sources.map((source) => load.serve(source, { hostname, port: Number(port) })))
  return { ...load.found, elapsedSeconds: (performance.now() - startedAtMs) / 1000 }
}

interface Answer {
  readonly status: number
  readonly body: Buffer
  readonly bytes: number
  readonly closes: boolean
}

class RunningLoad {
  readonly found = {
    tookMs: [] as number[],
    failed: 0,
    firstFailure: undefined as string | undefined,
    answerBytes: 0,
  }
  readonly #isOver: (answers: number) => boolean

  constructor(isOver: (answers: number) => boolean) {
    this.#isOver = isOver
  }

  serve(source: Source, address: { hostname: string; port: number }): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const open = () => {
      const socket = connect(address.port, address.hostname)
      socket.setNoDelay(true)
      socket.once('error', reject)
      this.#exchange(socket, source, (again) => {
        socket.destroy()
        if (again) open()
        else resolve()
      })
    }
    open()
    return promise
  }

  /** Sends requests on one connection until the load or the source ends, or the server closes the connection. */
  #exchange(socket: Socket, source: Source, finish: (again: boolean) => void): void {
    let received: Buffer = Buffer.alloc(0)
    let sentAtMs = 0
    const send = () => {
      const request = this.#isOver(this.found.tookMs.length) ? undefined : source.next()
      if (request === undefined) return finish(false)
      sentAtMs = performance.now()
      socket.write(request)
    }
    socket.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const answer = parseAnswer(received)
      if (!answer) return
      received = received.subarray(answer.bytes)
      this.#note(answer, performance.now() - sentAtMs, source)
      if (answer.closes) finish(true)
      else send()
    })
    socket.once('connect', send)
  }

  #note({ status, body, bytes }: Answer, tookMs: number, source: Source): void {
    if (status !== 200) {
      this.found.failed += 1
      this.found.firstFailure ??= `${status} ${body.toString()}`
      return
    }
    this.found.tookMs.push(tookMs)
    this.found.answerBytes = bytes
    source.learn?.(body.toString())
  }
}

/** Parses the first response; returns undefined while it is incomplete. */
function parseAnswer(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  const status = Number(head.slice(9, 12))
  const closes = /\r\nconnection: close/i.test(head)
  const begin = headEnd + 4
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined && /\r\ntransfer-encoding: chunked/i.test(head)) {
    const chunked = parseChunks(bytes, begin)
    return chunked && { status, closes, body: chunked.body, bytes: chunked.end }
  }
  const end = begin + Number(length ?? 0)
  return bytes.length < end
    ? undefined
    : { status, closes, body: bytes.subarray(begin, end), bytes: end }
}

function parseChunks(bytes: Buffer, begin: number): { body: Buffer; end: number } | undefined {
  const parts: Buffer[] = []
  for (let position = begin; ; ) {
    const lineEnd = bytes.indexOf('\r\n', position)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', position, lineEnd), 16)
    const end = lineEnd + 2 + size + 2
    if (bytes.length < end) return undefined
    if (size === 0) return { body: Buffer.concat(parts), end }
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    position = end
  }
}
