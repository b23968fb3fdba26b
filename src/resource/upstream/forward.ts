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
  /** Where the request goes; the query of the caller is added as it is. */
  readonly address: string
  /** The bearer token for there. */
  readonly token: string
  readonly baseUrl: string
  /** Headers of ours, which replace those of the caller. */
  readonly headers: Readonly<Record<string, string>>
  /** For the head of the answer once the request is sent, and for each pause on either way. */
  readonly answerWithinMs: number
  readonly bodyBytesMax: number
}

const CONNECT_MS = 5_000

// Each request has a connection of its own: one that is kept may be closed by the upstream in the very
// moment in which a write goes out on it, and nobody could tell whether that write was done. Sessions of
// TLS are resumed.
const agents = { http: new HttpAgent(), https: new HttpsAgent() }

/**
 * Sends the request on and streams the answer back, neither of which is ever held whole. Node's own
 * client does it: `fetch` would follow redirects, unpack bodies, and hide when a connection is made.
 *
 * @throws upstreamFailed, upstreamTooSlow or bodyTooLarge while nothing has been answered; a failure
 *   after that cuts the answer short, which the caller sees
 */
export async function forward(ctx: Context, wanted: Forwarded): Promise<void> {
  if (Number(ctx.get('content-length')) > wanted.bodyBytesMax)
    throw bodyTooLarge(wanted.bodyBytesMax)
  const outgoing = open(ctx, wanted)
  // It comes when the answer is complete too, and then there is nothing left to end.
  ctx.res.once('close', () => outgoing.destroy(new Error('the caller left')))
  const incoming = await answerTo(outgoing, ctx, wanted)
  const problem = problemOf(incoming)
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
      ...headersGoingIn(ctx.req.headers),
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

/** The head of the answer. */
async function answerTo(outgoing: ClientRequest, ctx: Context, wanted: Forwarded) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const fail = (error: Error) => {
    reject(isRefusal(error) ? error : upstreamFailed(error.message))
    outgoing.destroy()
  }
  const tooSlow = () => {
    reject(upstreamTooSlow())
    outgoing.destroy()
  }
  // Both stay for as long as the answer takes, which is cut short by them when it stops.
  outgoing.on('error', fail).on('timeout', tooSlow).once('response', resolve)
  outgoing.once('close', () => fail(new Error('the connection was closed without an answer')))
  const timers = [connecting(outgoing, tooSlow), answering(outgoing, tooSlow, wanted)]
  sendBody(ctx.req, outgoing, { bytesMax: wanted.bodyBytesMax, fail })
  try {
    return await promise
  } finally {
    for (const stop of timers) stop()
  }
}

/** A connection dropped by a firewall times out sooner than a slow answer. */
function connecting(outgoing: ClientRequest, tooSlow: () => void): () => void {
  const timer = setTimeout(tooSlow, CONNECT_MS)
  const stop = () => clearTimeout(timer)
  outgoing.once('socket', (socket) => socket.once('connect', stop))
  return stop
}

/** The time of an upstream begins when it has the whole request. */
function answering(
  outgoing: ClientRequest,
  tooSlow: () => void,
  { answerWithinMs }: Forwarded,
): () => void {
  let timer: NodeJS.Timeout | undefined
  outgoing.once('finish', () => {
    timer = setTimeout(tooSlow, answerWithinMs)
  })
  return () => clearTimeout(timer)
}

interface BodyLimit {
  readonly bytesMax: number
  readonly fail: (error: Error) => void
}

// A pipeline would destroy the caller's connection with its end, and lose the answer.
function sendBody(incoming: IncomingMessage, outgoing: ClientRequest, limit: BodyLimit): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = incoming.headers
  if (length === undefined && encoding === undefined) return void outgoing.end()
  let sentBytes = 0
  const send = (chunk: Buffer) => {
    sentBytes += chunk.length
    if (sentBytes > limit.bytesMax) limit.fail(bodyTooLarge(limit.bytesMax))
    else if (!outgoing.write(chunk)) incoming.pause()
  }
  const end = () => outgoing.end()
  incoming.on('data', send).once('end', end)
  outgoing.on('drain', () => incoming.resume())
  // Drains the rest of the body.
  outgoing.once('close', () => incoming.off('data', send).off('end', end).resume())
}

/**
 * Why an answer does not come out. A redirect would lead callers past this service; a 401 would make
 * them take a fault between the two services for a verdict on their own token; and what a server says
 * when it fails is not meant for them.
 */
function problemOf({ statusCode = 0 }: IncomingMessage): string | undefined {
  const answers = statusCode === 304 || (statusCode >= 200 && statusCode < 300)
  const refuses = statusCode >= 400 && statusCode < 500 && ![401, 407].includes(statusCode)
  return answers || refuses ? undefined : `the upstream answered ${statusCode}`
}

async function passOn(ctx: Context, incoming: IncomingMessage): Promise<void> {
  ctx.respond = false
  ctx.res.statusCode = incoming.statusCode ?? 200
  for (const [name, value] of Object.entries(headersComingOut(incoming.headers))) {
    if (value !== undefined) ctx.res.setHeader(name, value)
  }
  // The head is sent: all that can still be said is in the log, whose line comes when this has ended.
  incoming.once('error', (error) => {
    Object.assign(logFields(ctx), {
      error: 'upstream_failed',
      detail: `cut short: ${error.message}`,
    })
  })
  // It ends the caller's connection where the answer is not complete, so that it cannot seem to be.
  await pipeline(incoming, ctx.res).catch(() => {})
}

// What is not listed does not pass, in either direction. A list of what must not pass would have to
// know every header by which some server takes another method, address or person for the real one
// (X-HTTP-Method-Override, X-Original-URL, X-User), and every one by which a browser or a proxy acts on
// an answer (Refresh, Service-Worker-Allowed, X-Accel-Redirect).

const goIn = [
  'accept',
  'accept-encoding',
  'accept-language',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'prefer',
  'range',
  'traceparent',
  'tracestate',
] as const

const comeOut = [
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
  'preference-applied',
  'retry-after',
  'x-total-count',
] as const

/** What of a caller's headers goes to an upstream. */
function headersGoingIn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return pick(headers, goIn)
}

/** What of an upstream's headers comes out. */
function headersComingOut(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  // Without a Content-Type, a browser would sniff one.
  return { 'content-type': 'application/octet-stream', ...pick(headers, comeOut) }
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
