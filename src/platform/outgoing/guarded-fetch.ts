/** Requests to servers that strangers name: what may be reached, and how. What is asked is not known here. */

import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'

import { type LookUp, lookUpHere, lookUpOutside, type ResolvedAddress } from './look-up.ts'
import { isPublicAddress } from './public-address.ts'

/** What the engine puts into it besides means nothing here; it has a guard of its own, for sockets that stand already. */
export interface OutgoingInit extends RequestInit {
  /** The configuration names the host, which may be on the deployment's own network. */
  readonly privateAddress?: boolean
}

/** Sends a request to a server that a stranger or an operator has named. */
export type SendOutgoing = (address: string, init?: OutgoingInit) => Promise<Response>

export interface GuardedFetchOptions {
  /** Every address of a name. */
  readonly lookUp?: LookUp
  /** Certificates to trust instead of those that the platform does. */
  readonly certificates?: Buffer
  /** Where all are reached who were found good; tests have no public network. */
  readonly port?: number
}

/** As long as a request may take in all. */
const ANSWER_WITHIN_MS = 2500

/**
 * A fetch that reaches the public network and nothing else: https, no redirect, no compression, and a
 * connection to an address that was checked. The name is looked up once; when one of its addresses is
 * none of the public network, nobody is connected to, and otherwise only those that were checked are, so
 * that no second answer of a name server matters. There is no state in which it lets something through.
 */
export function makeGuardedFetch(options: GuardedFetchOptions = {}): SendOutgoing {
  const { lookUp, certificates, port } = options
  return async (address, init = {}) => {
    const url = new URL(address)
    if (url.protocol !== 'https:') throw new Error('only https is sent to other servers')
    const { method = 'GET', privateAddress = false } = init
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    const signal = endOf(init)
    const find = lookUp ?? (privateAddress ? lookUpHere : lookUpOutside)
    const addresses = await found(find, hostname, signal)
    if (!privateAddress) refuseInner(addresses)
    const answer = await send(
      {
        ...{ method, signal, agent: false, hostname, path: url.pathname + url.search },
        port: port ?? (url.port || 443),
        headers: headersOf(init, url),
        lookup: only(addresses),
        ...(isIP(hostname) === 0 && { servername: hostname }),
        ...(certificates && { ca: certificates }),
      },
      bodyOf(init),
    )
    return responseOf(answer)
  }
}

function endOf({ signal }: OutgoingInit): AbortSignal {
  const within = AbortSignal.timeout(ANSWER_WITHIN_MS)
  return signal ? AbortSignal.any([signal, within]) : within
}

/** A name server that does not answer must not outlast the request. */
async function found(
  find: LookUp,
  hostname: string,
  signal: AbortSignal,
): Promise<readonly ResolvedAddress[]> {
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

function refuseInner(addresses: readonly ResolvedAddress[]): void {
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return
  throw new Error('the host is at no address of the public network')
}

/** Gives the connection the addresses that were checked, whatever it asks for. */
function only(addresses: readonly ResolvedAddress[]): LookupFunction {
  const [first] = addresses
  return (_hostname, { all }, callback) => {
    if (all) callback(null, [...addresses])
    else callback(first ? null : new Error('no address'), first?.address ?? '', first?.family)
  }
}

function headersOf({ headers, body }: OutgoingInit, { host }: URL): Record<string, string> {
  // The engine asks without a user agent by an empty one.
  const given = [...new Headers(headers)].filter(([, value]) => value !== '')
  const text = bodyOf({ body: body ?? null })
  const length = text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) }
  return { ...Object.fromEntries(given), host, 'accept-encoding': 'identity', ...length }
}

/** A form or a text; nothing else is sent. */
function bodyOf({ body }: Pick<OutgoingInit, 'body'>): string | undefined {
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
  const without = status === 204 || status === 205 || status === 304
  if (without) incoming.resume()
  const body = without ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>)
  const told = ['content-type', 'cache-control'].flatMap((name): [string, string][] => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value]] : []
  })
  return new Response(body, { status, headers: told })
}
