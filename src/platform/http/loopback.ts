/**
 * Which host names mean the machine itself. Nothing else in the code lists them, so that the issuer,
 * the redirect addresses of clients, the pages and the tool endpoint cannot disagree.
 */

/** The names of this machine, as they stand in a URL. */
export const loopbackHosts = ['127.0.0.1', '[::1]', 'localhost'] as const

/** The address of this machine on which the service listens unless it is told otherwise. */
export const [loopbackAddress] = loopbackHosts

/** Whether a URL's host is one of the names above, in this one spelling. */
export function isLoopbackHost(hostname: string): boolean {
  return loopbackHosts.some((host) => host === hostname)
}

/** Whether a host is this machine by a name, which a machine may resolve otherwise (RFC 8252 §8.3). */
export function isNamedLoopback(hostname: string): boolean {
  return isLoopbackHost(hostname) && /^[a-z]/.test(hostname)
}

/** Whether an address can only be reached from the machine itself. */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname)
}

/**
 * Whether a host leads to this machine under any name, the rest of 127.0.0.0/8 and the names below
 * localhost (RFC 6761 §6.3) included. It is for telling a person what is wrong with an address: what
 * is accepted is one of the names above.
 */
export function leadsToThisMachine(hostname: string): boolean {
  return isLoopbackHost(hostname) || /^127(\.\d+){3}$|.\.localhost$/.test(hostname)
}

/** Whether nobody but this machine reaches what listens on an interface, named as `HOST` is. */
export function isLoopbackInterface(host: string): boolean {
  return host === '::1' || leadsToThisMachine(host.toLowerCase())
}
