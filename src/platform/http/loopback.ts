/**
 * Which host names mean the machine itself. No other file lists them, so that the issuer, the redirect addresses
 * of clients, the pages and the tool endpoint agree.
 */

/** The names of this machine in a URL. */
export const loopbackHosts = ['127.0.0.1', '[::1]', 'localhost'] as const

/** The address on which the service listens by default. */
export const [loopbackAddress] = loopbackHosts

/** Whether a URL's host is one of the names above, in this spelling. */
export function isLoopbackHost(hostname: string): boolean {
  return loopbackHosts.some((host) => host === hostname)
}

/** Whether a host is this machine by name, which a machine may resolve differently (RFC 8252 §8.3). */
export function isNamedLoopback(hostname: string): boolean {
  return isLoopbackHost(hostname) && /^[a-z]/.test(hostname)
}

/** Whether only the machine itself can reach an address. */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname)
}

/**
 * Whether a host leads to this machine under any name, also the rest of 127.0.0.0/8 and the names below
 * localhost (RFC 6761 §6.3). For messages only: just the names above are accepted.
 */
export function leadsToThisMachine(hostname: string): boolean {
  return isLoopbackHost(hostname) || /^127(\.\d+){3}$|.\.localhost$/.test(hostname)
}

/** Whether only this machine reaches an interface, in the spelling of `HOST`. */
export function isLoopbackInterface(host: string): boolean {
  return host === '::1' || leadsToThisMachine(host.toLowerCase())
}
