import { isLoopbackHost } from './loopback.ts'

const URI_LENGTH_MAX = 512

/** `http://<host>[:<port>]/<path>`, with only the characters of RFC 3986 §3.3. */
const loopbackForm =
  /^http:\/\/(\[[\d:]+\]|[\w.]+)(?::([1-9]\d{0,4}))?(\/(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-Fa-f]{2})*)$/

/**
 * Whether this is a loopback redirect URI (RFC 8252 §7.3) in canonical form (specification, Client
 * registration 3). Rejects decimal, hexadecimal, shortened and IPv4-mapped hosts, userinfo, query, fragment, port 0
 * and dot segments, because parsers disagree about them.
 *
 * The port may be absent: it changes with each authorization anyway, and VS Code and the metadata document of
 * Claude Code omit it.
 *
 * @param hosts the allowed ones of `loopbackHosts` (design 7)
 */
export function isLoopbackRedirect(uri: string, hosts: readonly string[]): boolean {
  if (uri.length > URI_LENGTH_MAX) return false
  const [, host = '', port = '1', path] = loopbackForm.exec(uri) ?? []
  // The parser resolves dot segments, also encoded ones, so they change the path.
  if (!isLoopbackHost(host) || !hosts.includes(host)) return false
  return Number(port) <= 65_535 && URL.parse(uri)?.pathname === path
}

const loopbackParts = /^http:\/\/(\[[\d:]+\]|[\w.]+)(?::([1-9]\d{0,4}))?((?:\/[^?#]*)?)$/

/**
 * Whether two loopback redirect URIs differ only in the port (RFC 8252 §7.3). Compares host and path exactly; an
 * empty path is not `/`.
 */
export function differInPortOnly(uri: string, listed: string): boolean {
  const [, host, port = '1', path] = loopbackParts.exec(uri) ?? []
  const [, listedHost, , listedPath] = loopbackParts.exec(listed) ?? []
  if (host === undefined || !isLoopbackHost(host) || Number(port) > 65_535) return false
  return host === listedHost && path === listedPath
}

/** Whether a URI has a private-use scheme (RFC 8252 §7.1), not one that browsers handle. */
function isAppAddress(uri: string): boolean {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/?\/?[\x21-\x7e]+$/.exec(uri) ?? []
  return scheme !== '' && !schemesOfBrowsers.has(scheme) && !uri.includes('#') && URL.canParse(uri)
}

const schemesOfBrowsers: ReadonlySet<string> = new Set(
  'about blob chrome data file filesystem ftp http https intent javascript mailto sms tel vbscript view-source ws wss'.split(
    ' ',
  ),
)

/** Whether the configuration may list a URI. Plain http is only for loopback (RFC 8252 §8.3). */
export function mayBeListed(uri: string): boolean {
  const url = URL.parse(uri)
  if (url === null || uri.includes('#') || url.username !== '') return false
  return url.protocol === 'https:' || isAppAddress(uri) || differInPortOnly(uri, uri)
}

/**
 * Whether a URI is on the host of a metadata document (specification, Client registration 5): https, the same host
 * and port, in canonical form, without userinfo and fragment.
 */
export function isUnderHost(uri: string, document: URL): boolean {
  if (uri.length > URI_LENGTH_MAX || uri.includes('#')) return false
  const url = URL.parse(uri)
  return (
    url?.protocol === 'https:' &&
    url.href === uri &&
    url.host === document.host &&
    url.username === '' &&
    url.password === ''
  )
}

/**
 * Whether an application of this type may use a redirect URI: plain http only for loopback (RFC 8252 §7.3), https
 * of a native application only with a real host (§7.2), private-use schemes only for native applications (§7.1).
 * The engine checks the same for native clients and less for web clients.
 */
export function mayReturnTo(uri: string, applicationType: 'web' | 'native'): boolean {
  const url = URL.parse(uri)
  if (url === null || uri.includes('#') || url.username !== '') return false
  const isLoopback = isLoopbackHost(url.hostname)
  if (url.protocol === 'http:') return isLoopback
  if (url.protocol !== 'https:') return applicationType === 'native' && isAppAddress(uri)
  return applicationType === 'web' || !isLoopback
}

/** Whether a URI is meant to be http or https, even if malformed. */
export function isWebAddress(uri: string): boolean {
  const protocol = URL.parse(uri)?.protocol
  return protocol === 'http:' || protocol === 'https:' || /^\s*https?:/i.test(uri)
}

/**
 * The variable segment of a redirect pattern, for platforms that give each connection its own callback: a fixed
 * https URI except for one path segment (design 6).
 */
export const FREE_SEGMENT = '{segment}'

/** Only characters that all parsers read alike: no dot, no slash, nothing encoded. */
const segment = /^[A-Za-z0-9_-]{1,128}$/

/** Whether a pattern is a canonical https URI with exactly one variable segment. */
export function isRedirectPattern(pattern: string): boolean {
  const parts = pattern.split(FREE_SEGMENT)
  if (parts.length !== 2 || !pattern.split('/').slice(3).includes(FREE_SEGMENT)) return false
  const example = parts.join('segment')
  const url = URL.parse(example)
  return (
    url?.protocol === 'https:' &&
    url.href === example &&
    url.origin + url.pathname === example &&
    !/[%*{}]/.test(example)
  )
}

/**
 * Whether a URI matches a pattern: the exact text around one segment. This excludes dot segments, encoded letters,
 * query, fragment, userinfo, a port and other forms of the host.
 */
export function matchesPattern(uri: string, pattern: string): boolean {
  const [before = '', after = ''] = pattern.split(FREE_SEGMENT)
  if (before === '' || !uri.startsWith(before) || !uri.endsWith(after)) return false
  return segment.test(uri.slice(before.length, uri.length - after.length))
}
