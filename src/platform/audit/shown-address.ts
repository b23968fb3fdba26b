import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

const IPV4_NETWORK_BITS = 24
const IPV6_NETWORK_BITS = 48
const ADDRESS_CHARACTERS_MAX = 64

/**
 * Creates the function that shortens client IP addresses for the audit trail. With `full`, it keeps them. With
 * `network`, it keeps the IPv4 /24 or IPv6 /48, which identifies a provider or place but rarely a person. With `none`,
 * or for an invalid address, it returns undefined.
 */
export function makeShownAddress(shown: 'full' | 'network' | 'none') {
  const show = (address: string) => {
    if (shown === 'none' || !ipaddr.isValid(address)) return undefined
    const parsed = ipaddr.process(address)
    if (shown === 'full') return parsed.toString()
    const bits = parsed.kind() === 'ipv4' ? IPV4_NETWORK_BITS : IPV6_NETWORK_BITS
    const masked = parsed.toByteArray().map((byte, index) => {
      const kept = Math.max(0, Math.min(8, bits - 8 * index))
      return byte & (0xff << (8 - kept))
    })
    return `${ipaddr.fromByteArray(masked).toString()}/${bits}`
  }
  // Cached, because each request shows its address.
  const known = new LRUCache<string, { readonly text: string | undefined }>({ max: 10_000 })
  return (address: string) => {
    const kept = known.get(address) ?? { text: show(address) }
    if (address.length <= ADDRESS_CHARACTERS_MAX) known.set(address, kept)
    return kept.text
  }
}
