import { isIP } from 'node:net'

const LENGTH_MAX = 512

/**
 * What is wrong with the address of a client's own server, which this service would send requests to:
 * the client's keys, or where it hears of sign-outs. It is https to a public name. Where a name leads is
 * looked up before a connection is made (platform/outgoing/guarded-fetch.ts).
 *
 * @param privateHosts hosts with their ports that the configuration admits all the same
 */
export function problemOfServerAddress(
  address: string,
  privateHosts: readonly string[],
): string | undefined {
  const url = address.length <= LENGTH_MAX ? URL.parse(address) : null
  if (!url || (url.href !== address && url.href !== `${address}/`)) {
    return 'It is not an address, as https://app.example/path is one.'
  }
  if (url.protocol !== 'https:') return 'It must begin with https://.'
  if (url.username || url.password) return 'It holds a user name or password.'
  if (address.includes('#')) return 'It has a part after #, which is not allowed.'
  if (privateHosts.includes(url.host) || isPublicName(url.hostname)) return undefined
  return 'It must name a host that everybody can reach, and no number or name of a private network.'
}

/** Whether a name can be one of the public network: it has a dot, and is neither a number nor local. */
function isPublicName(hostname: string): boolean {
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return false
  return hostname.includes('.') && !/\.(localhost|local|internal|home\.arpa)?$/.test(hostname)
}

/**
 * A client_id as the address of a document, or nothing when it cannot be one: https with the default
 * port, a host name with a dot, a path, the canonical spelling, and no userinfo, query or fragment
 * (draft-ietf-oauth-client-id-metadata-document-02 §3; the query, which it only advises against, would give one host any number of clients).
 */
export function readDocumentAddress(clientId: string): URL | undefined {
  if (!clientId.startsWith('https://') || clientId.length > LENGTH_MAX) return undefined
  const url = URL.parse(clientId)
  if (!url || url.href !== clientId || url.origin + url.pathname !== clientId) return undefined
  if (url.port !== '' || url.pathname === '/' || !isPublicName(url.hostname)) return undefined
  return url
}
