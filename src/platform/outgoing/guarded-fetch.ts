/** Requests to servers that untrusted callers name: which hosts are allowed, and how. */

import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'

import ipaddr from 'ipaddr.js'

/** Request options. Other fields of the engine have no effect: its guard checks sockets after connecting. */
export interface OutgoingInit extends RequestInit {
  /** Set if the configuration names the host, which may then be on a private network. */
  readonly privateAddress?: boolean
}

/** Sends a request to a server that a client or an operator has named. */
export type SendOutgoing = (address: string, init?: OutgoingInit) => Promise<Response>

export interface GuardedFetchOptions {
  readonly lookUp?: LookUp
  /** Certificates to trust instead of the system's. */
  readonly certificates?: Buffer
  /** The port for every request; tests have no public network. */
  readonly port?: number
}

/** The time limit of the whole request. */
const ANSWER_WITHIN_MS = 2500

/**
 * Makes a fetch that only reaches the public network: https, no redirect, no compression. The name is resolved
 * once. If one of its addresses is not public, the request fails. Otherwise it connects only to these addresses,
 * so a second DNS answer has no effect (DNS rebinding).
 */
export function makeGuardedFetch(options: GuardedFetchOptions = {}): SendOutgoing {
  const { lookUp, certificates, port } = options
  return async (address, init = {}) => {
    const url = new URL(address)
    if (url.protocol !== 'https:') throw new Error('requests to other servers must use https')
    const { method = 'GET', privateAddress = false } = init
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    const within = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const signal = init.signal ? AbortSignal.any([init.signal, within]) : within
    const find = lookUp ?? (privateAddress ? lookUpHere : lookUpOutside)
    const addresses = await addressesOf(hostname, find, signal)
    if (!privateAddress) refusePrivate(addresses)
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

/** Resolves a name within the time limit, even if the lookup ignores the signal. */
async function addressesOf(
  hostname: string,
  find: LookUp,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const family = isIP(hostname)
  if (family !== 0) return [{ address: hostname, family }]
  const { promise, reject } = Promise.withResolvers<never>()
  // The signal lives no longer than the request, so the listener stays.
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  signal.throwIfAborted()
  return await Promise.race([find(hostname, signal), promise])
}

function refusePrivate(addresses: readonly LookupAddress[]): void {
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return
  throw new Error('the host has no address, or one outside the public network')
}

/** Answers every lookup of the connection with the checked addresses. */
function only(addresses: readonly LookupAddress[]): LookupFunction {
  const [first] = addresses
  return (_hostname, { all }, callback) => {
    if (all) callback(null, [...addresses])
    else callback(first ? null : new Error('no address'), first?.address ?? '', first?.family)
  }
}

function headersOf(headers: RequestInit['headers'], body: string | undefined, host: string) {
  // The engine sets an empty User-Agent to send none.
  const given = [...new Headers(headers)].filter(([, value]) => value !== '')
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return { ...Object.fromEntries(given), host, 'accept-encoding': 'identity', ...length }
}

/** Returns a form or a text; nothing else is sent. */
function bodyOf({ body }: OutgoingInit): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body)
  throw new TypeError('the body of a request to another server must be text or a form')
}

async function send(options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>()
  request(options).on('response', answered).on('error', reject).end(body)
  return await promise
}

function responseOf(incoming: IncomingMessage): Response {
  const { statusCode: status = 0, headers } = incoming
  const encoding = headers['content-encoding'] ?? 'identity'
  if (STATUS_CODES[status] === undefined || status < 200 || encoding !== 'identity') {
    incoming.destroy()
    throw new Error('the answer is compressed or has an invalid status: serve it uncompressed')
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

/** Resolves a name to all its addresses, unless the signal aborts. */
export type LookUp = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

/** Resolves a name as this machine does, with its hosts file and search list. */
const lookUpHere: LookUp = async (hostname) => await lookup(hostname, { all: true })

/** Retries a silent name server once, within the time limit of a request. */
const ASKING = { timeout: 600, tries: 2 }

/** Resolves an untrusted name at the name servers of this machine. */
const lookUpOutside: LookUp = makeLookUpOutside()

/**
 * Makes a lookup that queries name servers directly. `dns.lookup` blocks one of the two libuv threads that resolve
 * names. Sixteen names with silent name servers blocked every lookup for over a minute, even that of the database
 * host after a lost connection.
 *
 * @param servers address and port of each name server; defaults to those of this machine
 */
export function makeLookUpOutside(servers?: readonly string[]): LookUp {
  return async (hostname, signal) => {
    // A new one each time has the current name servers, and cancels only this lookup.
    const resolver = new Resolver(ASKING)
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const [four, six] = await Promise.allSettled([
        resolver.resolve4(hostname),
        resolver.resolve6(hostname),
      ])
      const addresses = [...resolved(four, 4), ...resolved(six, 6)]
      if (addresses.length === 0 && four.status === 'rejected') throw four.reason
      return addresses
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

function resolved(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  if (answer.status === 'rejected') return []
  return answer.value.map((address) => ({ address, family }))
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is public (by the special-purpose registries of IANA, RFC 6890). IPv6 addresses that embed an
 * IPv4 address (NAT64, 6to4, Teredo) are not: no server has one.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // A socket treats a mapped address as the IPv4 address.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST)
}
