import ipaddr from 'ipaddr.js'

const IPV4_NETWORK_BITS = 24
const IPV6_NETWORK_BITS = 48

/**
 * Creates the function that shortens client IP addresses for the audit trail. With `full`, it keeps them. With
 * `network`, it keeps the IPv4 /24 or IPv6 /48, which identifies a provider or place but rarely a person. With `none`,
 * or for an invalid address, it returns undefined.
 */
export function makeShownAddress(shown: 'full' | 'network' | 'none') {
  return (address: string) => {
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
}
