import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Reading an address takes longer than counting it, and callers come again. */
const networks = new LRUCache<string, string>({ max: 10_000 })
/** What is longer is no address, and is not kept as one. */
const ADDRESS_CHARACTERS_MAX = 64

/**
 * The network that an address counts for. Rotating through the addresses of one IPv6 network must not
 * help, so that a /64 is one; nor must another spelling of the same address, a zone, or the port that
 * some proxies write behind it.
 */
export function networkOf(address: string): string {
  const known = networks.get(address)
  if (known !== undefined) return known
  const network = readNetwork(address)
  if (address.length <= ADDRESS_CHARACTERS_MAX) networks.set(address, network)
  return network
}

function readNetwork(address: string): string {
  const plain = address
    .trim()
    .toLowerCase()
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
    .replace(/%.*$/, '')
  if (!ipaddr.IPv6.isValid(plain)) return plain
  const ipv6 = ipaddr.IPv6.parse(plain)
  if (ipv6.isIPv4MappedAddress()) return ipv6.toIPv4Address().toString()
  return ipv6.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')
}

/**
 * The wide network that a network is in: what is rented or handed out together, an IPv4 /24 or an IPv6
 * /48. Who has one of its networks has the others soon.
 */
export function wideNetworkOf(address: string): string {
  const network = networkOf(address)
  return network.split(network.includes(':') ? ':' : '.', 3).join(':')
}
