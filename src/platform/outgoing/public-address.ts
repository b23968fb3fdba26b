import ipaddr from 'ipaddr.js'

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is one of the public network (the special-purpose registries of IANA, RFC 6890). What
 * leads to an IPv4 address by another way (mapped, NAT64, 6to4, Teredo) is none: nobody has its server there.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // A mapped one is that IPv4 address to the socket, too.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST)
}
