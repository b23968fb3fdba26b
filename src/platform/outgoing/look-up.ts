import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'

import ipaddr from 'ipaddr.js'

/** Resolves a name to all its addresses, unless the signal aborts. */
export type LookUp = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

/** Resolves a name as this machine does, with its hosts file and search list. */
export const lookUpHere: LookUp = async (hostname) => await lookup(hostname, { all: true })

/** Retries a silent name server once, within the time limit of a request. */
const ASKING = { timeout: 600, tries: 2 }

/** Resolves an untrusted name at the name servers of this machine. */
export const lookUpOutside: LookUp = makeLookUpOutside()

/**
 * Makes a lookup that asks name servers directly. The system's lookup holds one of the two threads of the process
 * until it gives up: sixteen names with silent servers stopped every lookup for more than a minute, also that of
 * the database after a lost connection.
 *
 * @param servers address and port of each, instead of the name servers of the machine
 */
export function makeLookUpOutside(servers?: readonly string[]): LookUp {
  return async (hostname, signal) => {
    // A new one each time has the current name servers, and cancels only this lookup.
    const resolver = new Resolver(ASKING)
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const [four, six] = await Promise.allSettled([
        resolver.resolve4(hostname),
        resolver.resolve6(hostname),
      ])
      const addresses = [...resolved(four, 4), ...resolved(six, 6)]
      if (addresses.length === 0 && four.status === 'rejected') throw four.reason
      return addresses
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

function resolved(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  if (answer.status === 'rejected') return []
  return answer.value.map((address) => ({ address, family }))
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an address is public (by the special-purpose registries of IANA, RFC 6890). IPv6 addresses that embed an
 * IPv4 address (NAT64, 6to4, Teredo) are not: no server has one.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // A socket treats a mapped address as the IPv4 address.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST)
}
