import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

const ADDRESS_CHARACTERS_MAX = 64

/**
 * Creates the function that shortens client IP addresses for the audit trail. `full` keeps the whole address. `network`
 * keeps the IPv4 /24 or IPv6 /48, which identifies a provider or place but rarely a person. With `none`, or for an
 * invalid address, the function returns undefined.
 */
export function makeShownAddress(shown: 'full' | 'network' | 'none') {
  const show = (address: string) => {
    if (shown === 'none' || !ipaddr.isValid(address)) return undefined
    const parsed = ipaddr.process(address)
    if (shown === 'full') return parsed.toString()
    const [family, bits] = parsed.kind() === 'ipv4' ? [ipaddr.IPv4, 24] : [ipaddr.IPv6, 48]
    return `${family.networkAddressFromCIDR(`${parsed}/${bits}`)}/${bits}`
  }
  // Cache the results, because each request is logged with its address.
  const known = new LRUCache<string, { readonly text: string | undefined }>({ max: 10_000 })
  return (address: string) => {
    const kept = known.get(address) ?? { text: show(address) }
    if (address.length <= ADDRESS_CHARACTERS_MAX) known.set(address, kept)
    return kept.text
  }
}
