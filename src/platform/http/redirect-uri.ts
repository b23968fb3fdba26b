import { isLoopbackHost } from './loopback.ts'

const URI_LENGTH_MAX = 512

/** `http://<host>[:<port>]/<path>`, in the letters of RFC 3986 §3.3 and nothing else. */
const loopbackForm =
  /^http:\/\/(\[[\d:]+\]|[\w.]+)(?::([1-9]\d{0,4}))?(\/(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-Fa-f]{2})*)$/

/**
 * Whether this is an address on the person's own computer (RFC 8252 §7.3) in the one spelling that
 * is accepted (specification, Client registration 3). Decimal, hexadecimal, shortened and
 * IPv4-mapped hosts, userinfo, query, fragment, port 0 and dot segments are other spellings, and no
 * two parsers agree on them.
 *
 * The port may be absent: it is chosen anew at each authorization anyway, and VS Code and the
 * metadata document of Claude Code name none.
 *
 * @param hosts those of `loopbackHosts` that count (design 7)
 */
export function isLoopbackRedirect(uri: string, hosts: readonly string[]): boolean {
  if (uri.length > URI_LENGTH_MAX) return false
  const [, host = '', port = '1', path] = loopbackForm.exec(uri) ?? []
  // The parser resolves dot segments, also the encoded ones, so that a path with one comes out changed.
  if (!isLoopbackHost(host) || !hosts.includes(host)) return false
  return Number(port) <= 65_535 && URL.parse(uri)?.pathname === path
}

const loopbackParts = /^http:\/\/(\[[\d:]+\]|[\w.]+)(?::([1-9]\d{0,4}))?((?:\/[^?#]*)?)$/

/**
 * Whether two addresses on the person's own computer differ in the port and in nothing else (RFC 8252
 * §7.3). Host and path are compared letter by letter; one without a path is another than one with `/`.
 */
export function differInPortOnly(uri: string, listed: string): boolean {
  const [, host, port = '1', path] = loopbackParts.exec(uri) ?? []
  const [, listedHost, , listedPath] = loopbackParts.exec(listed) ?? []
  if (host === undefined || !isLoopbackHost(host) || Number(port) > 65_535) return false
  return host === listedHost && path === listedPath
}

/** Whether an address has an app's own scheme (RFC 8252 §7.1), and none that a browser understands. */
function isAppAddress(uri: string): boolean {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/?\/?[\x21-\x7e]+$/.exec(uri) ?? []
  return scheme !== '' && !schemesOfBrowsers.has(scheme) && !uri.includes('#') && URL.canParse(uri)
}

const schemesOfBrowsers: ReadonlySet<string> = new Set(
  'about blob chrome data file filesystem ftp http https intent javascript mailto sms tel vbscript view-source ws wss'.split(
    ' ',
  ),
)

/** Whether the configuration may list an address. A code travels in clear inside one machine only (RFC 8252 §8.3). */
export function mayBeListed(uri: string): boolean {
  const url = URL.parse(uri)
  if (url === null || uri.includes('#') || url.username !== '') return false
  return url.protocol === 'https:' || isAppAddress(uri) || differInPortOnly(uri, uri)
}

/**
 * Whether an address lies on the host of a metadata document: https, the same host and port, and the
 * canonical spelling, which has no userinfo, no fragment and nothing that a parser would change
 * (specification, Client registration 5).
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
 * Whether the code and the session of an application may go to this address: plain http never leaves the
 * machine (RFC 8252 §7.3), a native application claims https only for a real host (§7.2), and a scheme of
 * an app's own is for native applications (§7.1). The engine says the same of native clients and less of
 * web clients.
 */
export function mayReturnTo(uri: string, applicationType: 'web' | 'native'): boolean {
  const url = URL.parse(uri)
  if (url === null || uri.includes('#') || url.username !== '') return false
  const isLoopback = isLoopbackHost(url.hostname)
  if (url.protocol === 'http:') return isLoopback
  if (url.protocol !== 'https:') return applicationType === 'native' && isAppAddress(uri)
  return applicationType === 'web' || !isLoopback
}

/** Whether an address is meant to be http or https, in whatever spelling. */
export function isWebAddress(uri: string): boolean {
  const protocol = URL.parse(uri)?.protocol
  return protocol === 'http:' || protocol === 'https:' || /^\s*https?:/i.test(uri)
}

/**
 * The free segment in a pattern: the callbacks of a platform that gives each connection an address of its own
 * are a fixed https address, but for one segment of its path (design 6).
 */
export const FREE_SEGMENT = '{segment}'

/** Letters that no parser reads in two ways: no dot, no slash, nothing encoded. */
const segment = /^[A-Za-z0-9_-]{1,128}$/

/** Whether a pattern is an address in its canonical spelling, with one free segment and nothing else to it. */
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
 * Whether an address is one of a pattern, letter by letter: the pattern's own text around one segment.
 * Dot segments, encoded letters, a query, a fragment, userinfo, a port and another spelling of the
 * host are all outside of that.
 */
export function matchesPattern(uri: string, pattern: string): boolean {
  const [before = '', after = ''] = pattern.split(FREE_SEGMENT)
  if (before === '' || !uri.startsWith(before) || !uri.endsWith(after)) return false
  return segment.test(uri.slice(before.length, uri.length - after.length))
}
