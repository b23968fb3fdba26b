import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Networks by address. Cached, because parsing an address takes longer than counting a request. */
const networks = new LRUCache<string, string>({ max: 10_000 })
const ADDRESS_CHARACTERS_MAX = 64

/**
 * Returns the network to charge for an address: an IPv4 address itself, or the /64 of an IPv6 address. Letter case,
 * IPv6 zones, IPv4-mapped notation and the ports that some proxies append do not change the network. An invalid address
 * is its own network.
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

/** Returns the IPv4 /24 or IPv6 /48 of an address. An attacker often controls a whole network of this size. */
export function wideNetworkOf(address: string): string {
  const network = networkOf(address)
  return network.split(network.includes(':') ? ':' : '.', 3).join(':')
}
