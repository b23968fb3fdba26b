import { isLoopbackHost } from './loopback.ts'

const URI_LENGTH_MAX = 512

/** Matches `http://<host>[:<port>]/<path>`, with only the path characters of RFC 3986 §3.3. */
const loopbackForm =
  /^http:\/\/(\[[\d:]+\]|[\w.]+)(?::([1-9]\d{0,4}))?(\/(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-Fa-f]{2})*)$/

/**
 * Whether a URI is a canonical loopback redirect URI (RFC 8252 §7.3; specification, Client registration 3). Rejects
 * userinfo, query and fragment, and spellings on which URL parsers disagree: decimal, hexadecimal, shortened and
 * IPv4-mapped hosts, port 0 and dot segments. The port is optional, because it may change with each authorization. VS
 * Code and the metadata document of Claude Code omit the port.
 *
 * @param hosts the allowed subset of `loopbackHosts` (design 7)
 */
export function isLoopbackRedirect(uri: string, hosts: readonly string[]): boolean {
  if (uri.length > URI_LENGTH_MAX) return false
  const [, host = '', port = '1', path] = loopbackForm.exec(uri) ?? []
  // Compare with the parsed path to reject dot segments. The parser resolves them, even if they are encoded.
  if (!isLoopbackHost(host) || !hosts.includes(host)) return false
  return Number(port) <= 65_535 && URL.parse(uri)?.pathname === path
}

const loopbackParts = /^http:\/\/(\[[\d:]+\]|[\w.]+)(?::([1-9]\d{0,4}))?((?:\/[^?#]*)?)$/

/** Whether two loopback redirect URIs differ at most in the port (RFC 8252 §7.3). An empty path differs from `/`. */
export function differInPortOnly(uri: string, listed: string): boolean {
  const [, host, port = '1', path] = loopbackParts.exec(uri) ?? []
  const [, listedHost, , listedPath] = loopbackParts.exec(listed) ?? []
  if (host === undefined || !isLoopbackHost(host) || Number(port) > 65_535) return false
  return host === listedHost && path === listedPath
}

/** Whether a URI has a private-use scheme (RFC 8252 §7.1) and no fragment. Excludes schemes that browsers handle. */
function isAppAddress(uri: string): boolean {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/?\/?[\x21-\x7e]+$/.exec(uri) ?? []
  return scheme !== '' && !schemesOfBrowsers.has(scheme) && !uri.includes('#') && URL.canParse(uri)
}

const schemesOfBrowsers: ReadonlySet<string> = new Set(
  'about blob chrome data file filesystem ftp http https intent javascript mailto sms tel vbscript view-source ws wss'.split(
    ' ',
  ),
)

/** Whether the configuration may list this redirect URI. Plain http is allowed only for loopback (RFC 8252 §8.3). */
export function mayBeConfigured(uri: string): boolean {
  const url = URL.parse(uri)
  if (url === null || uri.includes('#') || url.username !== '') return false
  return url.protocol === 'https:' || isAppAddress(uri) || differInPortOnly(uri, uri)
}

/** Whether a URI is a canonical URL on a metadata document's origin (specification, Client registration 5). */
export function isUnderHost(uri: string, document: URL): boolean {
  if (uri.length > URI_LENGTH_MAX || uri.includes('#')) return false
  const url = URL.parse(uri)
  if (url?.href !== uri || url.origin !== document.origin) return false
  return url.username === '' && url.password === ''
}

/**
 * Whether an application of this type may use a redirect URI. Plain http requires a loopback host (RFC 8252 §7.3),
 * and private-use schemes require a native application (§7.1). A native application may use https, but not with a
 * loopback host (§7.2). The engine makes similar checks for native clients, and fewer for web clients.
 */
export function mayReturnTo(uri: string, applicationType: 'web' | 'native'): boolean {
  const url = URL.parse(uri)
  if (url === null || uri.includes('#') || url.username !== '') return false
  const isLoopback = isLoopbackHost(url.hostname)
  if (url.protocol === 'http:') return isLoopback
  if (url.protocol !== 'https:') return applicationType === 'native' && isAppAddress(uri)
  return applicationType === 'web' || !isLoopback
}

/** Whether a URI looks like http or https, even if it is malformed. */
export function isWebAddress(uri: string): boolean {
  const protocol = URL.parse(uri)?.protocol
  return protocol === 'http:' || protocol === 'https:' || /^\s*https?:/i.test(uri)
}

/** The variable segment of a redirect pattern, for platforms whose callback differs per connection (design 17). */
export const FREE_SEGMENT = '{segment}'

/** A path segment that all parsers read alike: no dot, no slash, nothing encoded. */
const segment = /^[A-Za-z0-9_-]{1,128}$/

/** Whether a pattern is a canonical https or private-use URI with exactly one variable segment. */
export function isRedirectPattern(pattern: string): boolean {
  const parts = pattern.split(FREE_SEGMENT)
  if (parts.length !== 2 || !pattern.split('/').slice(3).includes(FREE_SEGMENT)) return false
  const example = parts.join('segment')
  const url = URL.parse(example)
  if (url?.href !== example || /[%*{}?#]/.test(example)) return false
  return url.protocol === 'https:' ? url.origin + url.pathname === example : isAppAddress(example)
}

/** Whether a URI matches a redirect pattern. Everything except the variable segment must be equal. */
export function matchesPattern(uri: string, pattern: string): boolean {
  const [before = '', after = ''] = pattern.split(FREE_SEGMENT)
  if (before === '' || !uri.startsWith(before) || !uri.endsWith(after)) return false
  return segment.test(uri.slice(before.length, uri.length - after.length))
}
