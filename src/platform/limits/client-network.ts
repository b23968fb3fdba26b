import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Caches networks: parsing an address takes longer than counting it, and callers come again. */
const networks = new LRUCache<string, string>({ max: 10_000 })
/** Longer text is no address and is not cached. */
const ADDRESS_CHARACTERS_MAX = 64

/**
 * Returns the network that an address is charged to. An IPv6 /64 is one network, so that rotating through its
 * addresses does not help. The same holds for another spelling, a zone, or the port that some proxies append.
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
 * Returns the block that is rented or assigned together: an IPv4 /24 or an IPv6 /48. An attacker with one
 * address of it can easily get others.
 */
export function wideNetworkOf(address: string): string {
  const network = networkOf(address)
  return network.split(network.includes(':') ? ':' : '.', 3).join(':')
}
