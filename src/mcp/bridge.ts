import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'

import type { Context } from 'koa'

/** Hop-by-hop headers and those of a body that was read already. */
const left = new Set(['connection', 'content-length', 'host', 'keep-alive', 'transfer-encoding'])

/**
 * A Koa request as the fetch API has it, without the Authorization header: nothing behind the
 * route needs the token, and what never had it cannot pass it on (MCP, token passthrough).
 *
 * Its signal is aborted when the caller hangs up, which is how a call is cancelled since 2026-07-28.
 */
export function fetchRequest(ctx: Context, url: string, body: string): Request {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(ctx.req.headersDistinct)) {
    if (left.has(name) || name === 'authorization' || name === 'cookie') continue
    for (const value of values) headers.append(name, value)
  }
  // The answer is JSON whatever the caller prefers; a narrow Accept is no reason to refuse it.
  headers.set('accept', 'application/json, text/event-stream')
  return new Request(url, { method: ctx.method, headers, body, signal: hangUpSignal(ctx) })
}

/** Sends an answer of the fetch API. */
export async function sendResponse(ctx: Context, response: Response): Promise<void> {
  ctx.status = response.status
  for (const [name, value] of response.headers) ctx.set(name, value)
  if (!response.body) {
    const { status } = response
    ctx.body = null
    ctx.status = status
  } else if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    ctx.body = Readable.fromWeb(response.body as ReadableStream)
  } else {
    ctx.body = await response.text()
  }
}

function hangUpSignal({ res }: Context): AbortSignal {
  const hangUp = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) hangUp.abort()
  })
  return hangUp.signal
}
