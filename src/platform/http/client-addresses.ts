import { isIP } from 'node:net'

export const ADDRESS_LENGTH_MAX = 512

/**
 * Validates a URL on a client's server, such as its JWKS or back-channel logout URI. It must be a canonical https URL
 * with a public host name. Requests to the URL also check the resolved addresses (platform/outgoing/guarded-fetch.ts).
 *
 * @param privateHosts private hosts, with ports, that the configuration allows; their name and port are not checked
 * @param callbacks the application's redirect URIs; one must have the same host and port if the port is not 443
 * @returns the kind of the problem, or undefined
 */
export function problemOfServerAddress(
  address: string,
  privateHosts: readonly string[],
  callbacks: readonly string[],
): 'form' | 'https' | 'login' | 'fragment' | 'port' | 'private' | undefined {
  const url = address.length <= ADDRESS_LENGTH_MAX ? URL.parse(address) : null
  if (!url || (url.href !== address && url.href !== `${address}/`)) {
    return 'form'
  }
  if (url.protocol !== 'https:') return 'https'
  if (url.username || url.password) return 'login'
  if (address.includes('#')) return 'fragment'
  if (privateHosts.includes(url.host)) return undefined
  if (!hasKnownPort(url, callbacks)) return 'port'
  return isPublicName(url.hostname) ? undefined : 'private'
}

/** Whether the port of an https URL is 443, or its host and port are those of a callback. */
export function hasKnownPort({ port, origin }: URL, callbacks: readonly string[]): boolean {
  return port === '' || callbacks.some((uri) => URL.parse(uri)?.origin === origin)
}

/** Whether a host name can be public: it has a dot, and is neither an IP address nor a local name. */
function isPublicName(hostname: string): boolean {
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return false
  return hostname.includes('.') && !/\.(localhost|local|internal|home\.arpa)?$/.test(hostname)
}

/**
 * Parses a client_id as the URL of a metadata document; undefined for any other client_id. The URL must be canonical,
 * use https, and have a public host name, the default port and a path. Userinfo, query and fragment are not allowed
 * (draft-ietf-oauth-client-id-metadata-document-02 §3). The draft discourages a query, and this service rejects it.
 */
export function readDocumentAddress(clientId: string): URL | undefined {
  if (!clientId.startsWith('https://') || clientId.length > ADDRESS_LENGTH_MAX) return undefined
  const url = URL.parse(clientId)
  if (!url || url.href !== clientId || url.origin + url.pathname !== clientId) return undefined
  if (url.port !== '' || url.pathname === '/' || !isPublicName(url.hostname)) return undefined
  return url
}
