/** Requests to servers that strangers name: what may be reached, and how. The callers decide what is sent. */

import type { LookupAddress } from 'node:dns'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'

import { isPublicAddress, type LookUp, lookUpHere, lookUpOutside } from './look-up.ts'

/** Other fields of the engine have no effect; its own guard checks sockets only once they are connected. */
export interface OutgoingInit extends RequestInit {
  /** The configuration names the host, which may be on the deployment's own network. */
  readonly privateAddress?: boolean
}

/** Sends a request to a server that a stranger or an operator has named. */
export type SendOutgoing = (address: string, init?: OutgoingInit) => Promise<Response>

export interface GuardedFetchOptions {
  readonly lookUp?: LookUp
  /** Certificates to trust in place of the system's. */
  readonly certificates?: Buffer
  /** The port for every request; tests have no public network. */
  readonly port?: number
}

/** The time limit of a whole request. */
const ANSWER_WITHIN_MS = 2500

/**
 * A fetch that only reaches the public network: https, no redirect, no compression, and a connection to an address
 * that was checked. The name is looked up once. If one of its addresses is not public, the request fails; otherwise
 * only these addresses are connected to, so that a second answer of a name server has no effect.
 */
export function makeGuardedFetch(options: GuardedFetchOptions = {}): SendOutgoing {
  const { lookUp, certificates, port } = options
  return async (address, init = {}) => {
    const url = new URL(address)
    if (url.protocol !== 'https:') throw new Error('only https is sent to other servers')
    const { method = 'GET', privateAddress = false } = init
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    const within = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const signal = init.signal ? AbortSignal.any([init.signal, within]) : within
    const find = lookUp ?? (privateAddress ? lookUpHere : lookUpOutside)
    const addresses = await addressesOf(hostname, find, signal)
    if (!privateAddress) refuseInner(addresses)
    const body = bodyOf(init)
    const answer = await send(
      {
        ...{ method, signal, agent: false, hostname, path: url.pathname + url.search },
        port: port ?? (url.port || 443),
        headers: headersOf(init.headers, body, url.host),
        lookup: only(addresses),
        ...(isIP(hostname) === 0 && { servername: hostname }),
        ...(certificates && { ca: certificates }),
      },
      body,
    )
    return responseOf(answer)
  }
}

/** Looks a name up within the time of the request, also if the lookup ignores the signal. */
async function addressesOf(
  hostname: string,
  find: LookUp,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const family = isIP(hostname)
  if (family !== 0) return [{ address: hostname, family }]
  const { promise, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([find(hostname, signal), promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

function refuseInner(addresses: readonly LookupAddress[]): void {
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return
  throw new Error('the host is at no address of the public network')
}

/** Gives the connection the addresses that were checked, whatever it asks for. */
function only(addresses: readonly LookupAddress[]): LookupFunction {
  const [first] = addresses
  return (_hostname, { all }, callback) => {
    if (all) callback(null, [...addresses])
    else callback(first ? null : new Error('no address'), first?.address ?? '', first?.family)
  }
}

function headersOf(headers: RequestInit['headers'], body: string | undefined, host: string) {
  // The engine sends an empty user agent to have none.
  const given = [...new Headers(headers)].filter(([, value]) => value !== '')
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return { ...Object.fromEntries(given), host, 'accept-encoding': 'identity', ...length }
}

/** A form or a text; nothing else is sent. */
function bodyOf({ body }: OutgoingInit): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body)
  throw new TypeError('only a text or a form is sent to other servers')
}

async function send(options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>()
  request(options).on('response', answered).on('error', reject).end(body)
  return await promise
}

function responseOf(incoming: IncomingMessage): Response {
  const { statusCode: status = 0, headers } = incoming
  const packed = headers['content-encoding'] ?? 'identity'
  if (STATUS_CODES[status] === undefined || status < 200 || packed !== 'identity') {
    incoming.destroy()
    throw new Error('the answer is none, or is packed')
  }
  const isEmpty = status === 204 || status === 205 || status === 304
  if (isEmpty) incoming.resume()
  const body = isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>)
  const kept = ['content-type', 'cache-control'].flatMap((name): [string, string][] => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value]] : []
  })
  return new Response(body, { status, headers: kept })
}
