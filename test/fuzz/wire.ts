import { once } from 'node:events'
import { type Agent, request as ask, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

import type { FuzzRequest } from './request.ts'

export interface Seen {
  readonly status: number
  /** Lists of values by lower-case name. */
  readonly headers: NodeJS.Dict<string[]>
  readonly text: string
  readonly tookMs: number
}

/** The time limit for a response. */
const PATIENCE_MS = 20_000

/** Sends a request on a keep-alive connection. If that fails, retries on a new one: the old one may be closed. */
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
    // Chromium has the same limit.
    maxHeaderSize: 262_144,
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  outgoing.end(body)
  const [incoming]: IncomingMessage[] = await once(outgoing, 'response')
  if (!incoming) throw new Error('no answer')
  const { statusCode: status = 0, headersDistinct: headers } = incoming
  return { status, headers, text: await text(incoming), tookMs: performance.now() - startedAt }
}

export const HANG_MS = 2000

/** Parts of `MARKUP` that could end an attribute or begin an element. */
const reflected = /mk7["']|<u mk7/

export function judge({ status, headers, text, tookMs }: Seen): string | undefined {
  if (status >= 500) return `${status}: ${text.slice(0, 200)}`
  if (tookMs > HANG_MS) return `${Math.round(tookMs)} ms`
  if (headers['x-mk7']) return 'a header that the request injected into the response'
  const isPage = headers['content-type']?.some((type) => /html|svg|xml/.test(type))
  const at = text.search(reflected)
  if (!isPage || at < 0) return undefined
  return `markup of the caller: ${text.slice(Math.max(0, at - 80), at + 80)}`
}
