import { isIP } from 'node:net'

const LENGTH_MAX = 512

/**
 * Returns what is wrong with a URL of a client's server, such as its JWKS or its back-channel logout URI. It must
 * be https to a public host name. The addresses of that name are checked for each connection
 * (platform/outgoing/guarded-fetch.ts).
 *
 * @param privateHosts hosts with ports that the configuration allows in addition
 */
export function problemOfServerAddress(
  address: string,
  privateHosts: readonly string[],
): string | undefined {
  const url = address.length <= LENGTH_MAX ? URL.parse(address) : null
  if (!url || (url.href !== address && url.href !== `${address}/`)) {
    return 'Enter a complete address, like https://app.example/path.'
  }
  if (url.protocol !== 'https:') return 'It must begin with https://.'
  if (url.username || url.password) return 'Remove the user name and password from it.'
  if (address.includes('#')) return 'Remove the part after #.'
  if (privateHosts.includes(url.host) || isPublicName(url.hostname)) return undefined
  return 'It must have a public host name, not an IP address or a name of a private network.'
}

/** Whether a host name can be public: it has a dot, and is neither an IP address nor local. */
function isPublicName(hostname: string): boolean {
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return false
  return hostname.includes('.') && !/\.(localhost|local|internal|home\.arpa)?$/.test(hostname)
}

/**
 * Parses a client_id as the URL of a metadata document, if it is one. It must be https in canonical form, with
 * the default port, a host name with a dot and a path, without userinfo, query and fragment
 * (draft-ietf-oauth-client-id-metadata-document-02 §3). The draft only advises against a query, but one host could
 * then have any number of clients.
 */
export function readDocumentAddress(clientId: string): URL | undefined {
  if (!clientId.startsWith('https://') || clientId.length > LENGTH_MAX) return undefined
  const url = URL.parse(clientId)
  if (!url || url.href !== clientId || url.origin + url.pathname !== clientId) return undefined
  if (url.port !== '' || url.pathname === '/' || !isPublicName(url.hostname)) return undefined
  return url
}
