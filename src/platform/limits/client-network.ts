import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** A cache of the networks of addresses, because parsing an address takes longer than counting it. */
const networks = new LRUCache<string, string>({ max: 10_000 })
/** The maximum length of an address. Longer text is not cached. */
const ADDRESS_CHARACTERS_MAX = 64

/**
 * Returns the network to charge for an address. All of an IPv6 /64 is one network, so rotating through its addresses
 * does not evade a limit. Neither do alternative spellings, zones, or the ports that some proxies append.
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
 * Returns the IPv4 /24 or IPv6 /48 of an address. Such a block is rented or assigned as a whole, so an attacker who
 * has one of its addresses can easily use others.
 */
export function wideNetworkOf(address: string): string {
  const network = networkOf(address)
  return network.split(network.includes(':') ? ':' : '.', 3).join(':')
}
