/** Guarded requests to other servers, whose URLs may come from untrusted callers. */

import type { LookupAddress } from 'node:dns'
import { lookup, NODATA, NOTFOUND, Resolver } from 'node:dns/promises'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'

import ipaddr from 'ipaddr.js'

/** Request options. Other options that the engine passes, such as its own socket guard, are ignored. */
export interface OutgoingInit extends RequestInit {
  /** Whether the configuration names the host. Such a host may have a private address. */
  readonly privateAddress?: boolean
  /** The purpose of the request, for the metrics. Requests whose purpose is `webhook` share connections. */
  readonly purpose?: 'password' | 'identity' | 'webhook'
}

/** Sends a request to another server, whose URL comes from a client, an operator or the configuration. */
export type SendOutgoing = (address: string, init?: OutgoingInit) => Promise<Response>

export interface GuardedFetchOptions {
  readonly lookUp?: LookUp
  /** Certificate authorities to trust instead of Node's own list. */
  readonly certificates?: Buffer
  /** The port of every request, for tests without a public network. */
  readonly port?: number
}

/** The time limit of a request without a signal, including name resolution. */
const ANSWER_WITHIN_MS = 2500

/** How long an idle webhook connection stays open. Shorter than the idle timeout of most servers (5 s or more). */
const KEPT_MS = 4000

/**
 * Creates a fetch function that connects only to public addresses, over https, without redirects or compression. It
 * resolves the host name once for each connection. If any of the addresses is not public, the request fails, unless
 * `privateAddress` is set. The connection uses only the resolved addresses, so a later DNS response has no effect (DNS
 * rebinding). Webhooks share connections. Of the response headers, only Content-Type and Cache-Control are returned.
 */
export function makeGuardedFetch(options: GuardedFetchOptions = {}): SendOutgoing {
  const { lookUp, certificates, port } = options
  const kept = new Agent({ keepAlive: true, maxFreeSockets: 1, timeout: KEPT_MS })
  return async (address, init = {}) => {
    const url = new URL(address)
    if (url.protocol !== 'https:')
      throw new Error('requests to other servers must use https; change the URL')
    const { method = 'GET', privateAddress = false, purpose } = init
    const hostname = withoutBrackets(url.hostname)
    const signal = init.signal ?? AbortSignal.timeout(ANSWER_WITHIN_MS)
    const find = lookUp ?? (privateAddress ? lookUpHere : lookUpOutside)
    const check = privateAddress ? () => {} : refusePrivate
    const family = isIP(hostname)
    if (family !== 0) check([{ address: hostname, family }])
    const body = bodyOf(init)
    const answer = await send(
      {
        ...{ method, signal, hostname, path: url.pathname + url.search },
        agent: purpose === 'webhook' && kept,
        port: port ?? (url.port || 443),
        headers: outgoingHeaders(init.headers, body, url.host),
        lookup: checkedLookup(async () => await find(hostname, signal), check),
        ...(family === 0 && { servername: hostname }),
        ...(certificates && { ca: certificates }),
      },
      body,
    )
    return toResponse(answer)
  }
}

const withoutBrackets = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')

/** Whether the host of a URL is a private address, so guarded requests to it fail unless `privateAddress` is set. */
export function isPrivateHost(hostname: string): boolean {
  const host = withoutBrackets(hostname)
  return isIP(host) !== 0 && !isPublicAddress(host)
}

function refusePrivate(addresses: readonly LookupAddress[]): void {
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return
  throw new Error('the host has no address, or one that is not public')
}

/** Creates a DNS lookup function for a connection. The lookup fails if `check` throws. */
function checkedLookup(
  find: () => Promise<readonly LookupAddress[]>,
  check: (addresses: readonly LookupAddress[]) => void,
): LookupFunction {
  return (_hostname, _options, callback) => {
    const checked = find().then((addresses) => {
      check(addresses)
      callback(null, [...addresses])
    })
    checked.catch((error: Error) => callback(error, []))
  }
}

function outgoingHeaders(headers: RequestInit['headers'], body: string | undefined, host: string) {
  // The engine sets an empty User-Agent to omit the header.
  const given = [...new Headers(headers)].filter(([, value]) => value !== '')
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return { ...Object.fromEntries(given), host, 'accept-encoding': 'identity', ...length }
}

/** Returns the body of a request as text. @throws if the body is neither text nor a form */
function bodyOf({ body }: OutgoingInit): string | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body)
  throw new TypeError('the body of a request to another server must be text or a form')
}

async function send(options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>()
  const sent = request(options).on('response', answered)
  sent.on('error', (error) => {
    // The server may have closed the reused connection, so retry on a new connection.
    const isStale = sent.reusedSocket && !options.signal?.aborted
    if (isStale) answered(send({ ...options, agent: false }, body))
    else reject(error)
  })
  sent.end(body)
  return await promise
}

function toResponse(incoming: IncomingMessage): Response {
  const { statusCode: status = 0, headers } = incoming
  const encoding = headers['content-encoding'] ?? 'identity'
  if (STATUS_CODES[status] === undefined || status < 200 || encoding !== 'identity') {
    incoming.destroy()
    throw new Error('the response from the other server is compressed or has an invalid status')
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

/** Resolves a name to all its addresses. An implementation may stop when the signal aborts. */
export type LookUp = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

/** Resolves a name as other programs on this machine do, with its hosts file and search list. */
const lookUpHere: LookUp = async (hostname) => await lookup(hostname, { all: true })

/** Per name server: the time limit in milliseconds, and the number of attempts. */
const RESOLVER_OPTIONS = { timeout: 600, tries: 2 }

const lookUpOutside: LookUp = makeLookUpOutside()

/**
 * Creates a lookup that queries name servers directly. `dns.lookup` blocks one of the two libuv threads that resolve
 * names. In a test, sixteen names with unresponsive name servers blocked all lookups for over a minute, including
 * lookups of the database host after a lost connection.
 *
 * @param servers addresses with ports; defaults to the name servers of this machine
 */
export function makeLookUpOutside(servers?: readonly string[]): LookUp {
  return async (hostname, signal) => {
    // A new resolver uses the current name servers, and cancelling it affects only this lookup.
    const resolver = new Resolver(RESOLVER_OPTIONS)
    if (servers) resolver.setServers(servers)
    signal.addEventListener('abort', () => resolver.cancel(), { once: true })
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ])
    const addresses = [...resolved(four, 4), ...resolved(six, 6)]
    if (addresses.length > 0 || four.status === 'fulfilled') return addresses
    const { code } = four.reason
    const isUnknown = code === NOTFOUND || code === NODATA
    const problem = isUnknown ? 'was not found' : `could not be resolved (${code})`
    throw new Error(`the name ${hostname} ${problem}`, { cause: four.reason })
  }
}

function resolved(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  if (answer.status === 'rejected') return []
  return answer.value.map((address) => ({ address, family }))
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is public, according to IANA's special-purpose address registries (RFC 6890). IPv6 addresses that
 * embed an IPv4 address (NAT64, 6to4, Teredo) count as private, because no server needs such an address.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // Sockets treat an IPv4-mapped address as the IPv4 address.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST)
}
