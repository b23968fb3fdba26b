import { lookup, Resolver } from 'node:dns/promises'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Every address of a name; it gives up when the signal says so. */
export type LookUp = (hostname: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>

/** As this machine finds its own neighbours: by its files and its search list, too. */
export const lookUpHere: LookUp = async (hostname) => await lookup(hostname, { all: true })

/** A name server that says nothing is asked once more, within the time of a request. */
const ASKING = { timeout: 600, tries: 2 }

/**
 * As the name servers say, to which a stranger may have the name lead. The system's own way holds one of two
 * threads of the process until it gives up, whoever waits: sixteen names whose servers say nothing kept
 * everybody from looking anything up, the database after a lost connection too, for more than a minute.
 */
export const lookUpOutside: LookUp = makeLookUpOutside()

/** @param servers address and port of each, instead of those of the machine */
export function makeLookUpOutside(servers?: readonly string[]): LookUp {
  return async (hostname, signal) => {
    // Made anew each time, it knows the name servers of now, and whose questions to take back.
    const resolver = new Resolver(ASKING)
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const [four, six] = await Promise.allSettled([
        resolver.resolve4(hostname),
        resolver.resolve6(hostname),
      ])
      const addresses = [...found(four, 4), ...found(six, 6)]
      if (addresses.length === 0 && four.status === 'rejected') throw four.reason
      return addresses
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

function found(answer: PromiseSettledResult<string[]>, family: 4 | 6): ResolvedAddress[] {
  if (answer.status === 'rejected') return []
  return answer.value.map((address) => ({ address, family }))
}
