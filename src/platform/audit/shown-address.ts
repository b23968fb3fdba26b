import ipaddr from 'ipaddr.js'

/** How much of a caller's address the audit trail keeps. The log has all of it, under the request's id. */
export type ShownAddresses = 'full' | 'network' | 'none'

const IPV4_NETWORK_BITS = 24
const IPV6_NETWORK_BITS = 48

/**
 * Shortens addresses for the trail. `network` is the first three numbers of IPv4 and the first 48 bits of IPv6,
 * which tell providers and places apart, but seldom people. Text that is no address is not kept.
 */
export function makeShownAddress(shown: ShownAddresses): (address: string) => string | undefined {
  return (address) => {
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
