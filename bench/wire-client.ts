import { connect, type Socket } from 'node:net'

/**
 * Load over raw sockets with requests that were made before: node's own client costs several times
 * as much as the answers that are measured, on the core that the stores need. It knows as much of
 * HTTP/1.1 as our servers send: a length or chunks, and a connection that is kept.
 */
export interface Source {
  /** The next request of this connection, or undefined when there is none left. */
  next(): Buffer | undefined
  /** Is given the body of every answer with status 200. */
  learn?(body: string): void
}

/** What a run of load found. */
export interface Load {
  /** Of each answer with status 200, unsorted. */
  readonly tookMs: readonly number[]
  readonly elapsedSeconds: number
  readonly failed: number
  /** The first answer that was not 200, for a message. */
  readonly firstFailure: string | undefined
  /** Header and body of the last answer. */
  readonly answerBytes: number
}

/** A request in the form in which it is sent. */
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

/** A stretch goes on for so long at most while it has fewer answers than it wants. */
const PATIENCE = 5

/**
 * Runs each source on a connection of its own, one request after the other, for some time; longer
 * where a machine that has much else to do gave fewer answers than say anything.
 */
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

  /** Sends and receives on one connection until it is over, or the server closes it. */
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

/** The answer that the bytes begin with, or nothing while some of it is missing. */
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
