/** The loopback hosts. The issuer, redirect URIs, pages and tool endpoints all use this list. */
export const loopbackHosts = ['127.0.0.1', '[::1]', 'localhost'] as const

/** The default listening address. */
export const [loopbackAddress] = loopbackHosts

/** Whether a host is one of `loopbackHosts`, in exactly that spelling. */
export function isLoopbackHost(hostname: string): boolean {
  return loopbackHosts.some((host) => host === hostname)
}

/** Whether a host is the name `localhost`, which may resolve to another address (RFC 8252 §8.3). */
export function isNamedLoopback(hostname: string): boolean {
  return isLoopbackHost(hostname) && /^[a-z]/.test(hostname)
}

/** Whether a URL has a loopback host. */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname)
}

/** Whether a host is in `loopbackHosts`, in 127.0.0.0/8, or below `localhost` (RFC 6761 §6.3). */
export function leadsToThisMachine(hostname: string): boolean {
  return isLoopbackHost(hostname) || /^127(\.\d+){3}$|.\.localhost$/.test(hostname)
}

/** Whether a server with this listening address is reachable only from this machine. */
export function isLoopbackInterface(host: string): boolean {
  return host === '::1' || leadsToThisMachine(host.toLowerCase())
}
