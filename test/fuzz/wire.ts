import { once } from 'node:events'
import { type Agent, request as ask, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

import type { FuzzRequest } from './request.ts'

export interface Seen {
  readonly status: number
  readonly headers: readonly string[]
  readonly text: string
  readonly tookMs: number
}

/** The time limit for a response. */
const PATIENCE_MS = 20_000

/** Sends a request on a kept connection, and again on a new one if that fails, because the kept one may have ended. */
export async function sendOne(agent: Agent, url: string, request: FuzzRequest): Promise<Seen> {
  try {
    return await sendOnce(agent, url, request)
  } catch {
    return await sendOnce(false, url, request)
  }
}

/** Whether the response may be lost, because the service closes the connection when it rejects a large body. */
export function mayBeCutOff({ body = '' }: FuzzRequest, error: unknown): boolean {
  return body.length > 10_000 && /ECONNRESET|EPIPE|socket hang up/.test(String(error))
}

async function sendOnce(agent: Agent | false, url: string, request: FuzzRequest): Promise<Seen> {
  const { hostname, port, host } = new URL(url)
  const { method, path } = request
  const body = request.body === undefined ? undefined : Buffer.from(request.body, 'latin1')
  const length = body === undefined ? [] : ['Content-Length', String(body.length)]
  const startedAt = performance.now()
  const outgoing = ask({
    ...{ agent, hostname, port, method, path, setHost: false },
    headers: ['Host', host, ...request.headers, ...length],
    // The limit of browsers.
    maxHeaderSize: 262_144,
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  outgoing.end(body)
  const [incoming]: IncomingMessage[] = await once(outgoing, 'response')
  if (!incoming) throw new Error('no answer')
  const { statusCode: status = 0, rawHeaders: headers } = incoming
  return { status, headers, text: await text(incoming), tookMs: performance.now() - startedAt }
}

/** Sends several requests at once on one connection, byte for byte, and reads until the service closes it. */
export async function sendPipelined(url: string, requests: readonly FuzzRequest[]) {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.on('error', () => {})
  const startedAt = performance.now()
  socket.setTimeout(PATIENCE_MS, () => socket.destroy())
  const last = requests.length - 1
  socket.write(requests.map((each, at) => wireText(each, host, at === last)).join(''), 'latin1')
  const answers = await text(socket)
  const tookMs = performance.now() - startedAt
  return answers
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((part) => part.startsWith('HTTP/1.1 '))
    .map((part) => partOf(part, tookMs))
}

function wireText({ method, path, headers, body }: FuzzRequest, host: string, isLast: boolean) {
  const length = body === undefined ? [] : ['Content-Length', String(body.length)]
  const all = ['Host', host, ...headers, ...length, ...(isLast ? ['Connection', 'close'] : [])]
  const lines = all.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${all[at + 1] ?? ''}`] : []))
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

function partOf(part: string, tookMs: number): Seen {
  const [head = '', ...rest] = part.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = lines.flatMap((line) => {
    const [name = '', ...value] = line.split(': ')
    return [name, value.join(': ')]
  })
  return { status: Number(first.slice(9, 12)), headers, text: rest.join('\r\n\r\n'), tookMs }
}

export function headerOf({ headers }: Seen, name: string): string[] {
  return headers.filter((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === name)
}
