import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
} from 'node:http'
import { Agent as HttpsAgent, request as secureRequest } from 'node:https'
import { pipeline } from 'node:stream/promises'

import type { Context } from 'koa'

import {
  bodyTooLarge,
  isRefusal,
  upstreamFailed,
  upstreamTooSlow,
} from '../../platform/http/errors.ts'
import { logFields, requestIdOf } from '../../platform/http/request-log.ts'

export interface Forwarded {
  /** The target URL; the caller's query is appended unchanged. */
  readonly address: string
  readonly token: string
  readonly baseUrl: string
  /** Headers that replace those of the caller. */
  readonly headers: Readonly<Record<string, string>>
  /** The time limit for the response headers, and for each pause in either direction. */
  readonly answerWithinMs: number
  readonly bodyBytesMax: number
}

/** The time limit for connecting, so requests to an unreachable host fail early. */
const CONNECT_MS = 5_000

// Open a new connection for each request. An upstream may close a kept-alive connection while a request is being sent,
// which leaves the outcome unknown. TLS sessions are resumed.
const agents = { http: new HttpAgent(), https: new HttpsAgent() }

/**
 * Forwards the request and streams the response back without buffering. Uses `node:http`, because `fetch` decompresses
 * bodies and hides when a connection is made.
 *
 * @throws upstreamFailed, upstreamTooSlow or bodyTooLarge before the response begins. A later failure closes the
 * caller's connection, so the caller sees that the response is incomplete.
 */
export async function forward(ctx: Context, wanted: Forwarded): Promise<void> {
  if (Number(ctx.get('content-length')) > wanted.bodyBytesMax)
    throw bodyTooLarge(wanted.bodyBytesMax)
  const outgoing = open(ctx, wanted)
  // `close` is also emitted after a complete response; in that case, `destroy` is a no-op.
  ctx.res.once('close', () => outgoing.destroy(new Error('the caller disconnected')))
  const incoming = await awaitAnswer(outgoing, ctx, wanted)
  const problem = responseProblem(incoming)
  if (problem !== undefined) {
    outgoing.destroy()
    throw upstreamFailed(problem)
  }
  await passOn(ctx, incoming)
}

function open(ctx: Context, wanted: Forwarded): ClientRequest {
  const { address, token, baseUrl, headers, answerWithinMs } = wanted
  const url = new URL(address)
  const secure = url.protocol === 'https:'
  return (secure ? secureRequest : request)(url, {
    method: ctx.method,
    path: url.pathname + ctx.search,
    agent: secure ? agents.https : agents.http,
    timeout: answerWithinMs,
    headers: {
      ...pick(ctx.req.headers, requestHeaders),
      ...headers,
      authorization: `Bearer ${token}`,
      'x-request-id': requestIdOf(ctx),
      'x-forwarded-for': ctx.ip,
      'x-forwarded-host': new URL(baseUrl).host,
      'x-forwarded-proto': new URL(baseUrl).protocol.slice(0, -1),
      via: `${ctx.req.httpVersion} gatehouse`,
    },
  })
}

/** Sends the request body and waits for the response headers. */
async function awaitAnswer(outgoing: ClientRequest, ctx: Context, wanted: Forwarded) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const fail = (error: Error) => {
    reject(isRefusal(error) ? error : upstreamFailed(error.message))
    outgoing.destroy()
  }
  const tooSlow = () => fail(upstreamTooSlow())
  // Keep listening for errors and timeouts until the response ends, to abort a stalled response.
  outgoing.on('error', fail).on('timeout', tooSlow).once('response', resolve)
  outgoing.once('close', () => fail(new Error('the connection was closed without a response')))
  const connectTimer = setTimeout(tooSlow, CONNECT_MS)
  outgoing.once('socket', (socket) => socket.once('connect', () => clearTimeout(connectTimer)))
  let answerTimer: NodeJS.Timeout | undefined
  outgoing.once('finish', () => {
    answerTimer = setTimeout(tooSlow, wanted.answerWithinMs)
  })
  sendBody(ctx.req, outgoing, wanted.bodyBytesMax, fail)
  try {
    return await promise
  } finally {
    clearTimeout(connectTimer)
    clearTimeout(answerTimer)
  }
}

/** Sends the request body without `pipeline`, which would close the caller's connection after an error. */
function sendBody(
  incoming: IncomingMessage,
  outgoing: ClientRequest,
  bytesMax: number,
  fail: (error: Error) => void,
): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = incoming.headers
  if (length === undefined && encoding === undefined) return void outgoing.end()
  let sentBytes = 0
  const send = (chunk: Buffer) => {
    sentBytes += chunk.length
    if (sentBytes > bytesMax) fail(bodyTooLarge(bytesMax))
    else if (!outgoing.write(chunk)) incoming.pause()
  }
  const end = () => outgoing.end()
  incoming.on('data', send).once('end', end)
  outgoing.on('drain', () => incoming.resume())
  // Discard the rest of the body.
  outgoing.once('close', () => incoming.off('data', send).off('end', end).resume())
}

/**
 * Returns why a response must not be passed on, or undefined. A redirect would lead callers past this service. A 401
 * would look like a verdict on the caller's own token. The text of a server error is not meant for callers.
 */
function responseProblem({ statusCode = 0 }: IncomingMessage): string | undefined {
  const answers = statusCode === 304 || (statusCode >= 200 && statusCode < 300)
  const refuses = statusCode >= 400 && statusCode < 500 && ![401, 407].includes(statusCode)
  return answers || refuses ? undefined : `the upstream responded with ${statusCode}`
}

async function passOn(ctx: Context, incoming: IncomingMessage): Promise<void> {
  ctx.respond = false
  ctx.res.statusCode = incoming.statusCode ?? 200
  // Without a Content-Type, a browser would guess one.
  const headers = {
    'content-type': 'application/octet-stream',
    ...pick(incoming.headers, responseHeaders),
  }
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) ctx.res.setHeader(name, value)
  }
  // The headers are already sent, so only the request's log line can report the error.
  incoming.once('error', (error) => {
    Object.assign(logFields(ctx), {
      error: 'upstream_failed',
      detail: `the response was interrupted: ${error.message}`,
    })
  })
  // `pipeline` closes the caller's connection if the response is incomplete, so the response does not seem complete.
  await pipeline(incoming, ctx.res).catch(() => {})
}

// Only listed headers are passed on, in either direction. A denylist would be too long. It would need every header that
// overrides the method, URL or user on some server (X-HTTP-Method-Override, X-Original-URL, X-User), or that a browser
// or proxy acts on (Refresh, Service-Worker-Allowed, X-Accel-Redirect).

const requestHeaders = namesIn(`
  accept accept-encoding accept-language content-encoding content-language content-length content-type
  idempotency-key if-match if-modified-since if-none-match if-range if-unmodified-since prefer range
  traceparent tracestate
`)

const responseHeaders = namesIn(`
  accept-ranges content-disposition content-encoding content-language content-length content-range
  content-type etag last-modified preference-applied retry-after x-total-count
`)

function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}

function pick(headers: IncomingHttpHeaders, names: ReadonlySet<string>): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.has(name)))
}
