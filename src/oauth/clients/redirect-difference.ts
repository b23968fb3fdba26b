import { isLoopbackHost } from '../../platform/http/loopback.ts'

const SHOWN_MAX = 100

/** Makes a URI safe to show. Drops its query, fragment and user info, shortens it, and masks all but visible ASCII. */
export function shownUri(sent: string): string {
  const [, bare = '', mark = ''] = /^([^?#]*)([?#]?)/.exec(sent) ?? []
  const named = bare.replace(/^([^/]*:\/\/)[^/]*@/, '$1…@')
  const cut = named.length > SHOWN_MAX ? `${named.slice(0, SHOWN_MAX)}…` : named
  return `${cut}${mark && `${mark}…`}`.replaceAll(/[^\x21-\x7e…]/g, '·')
}

/**
 * Explains how a redirect URI differs from the most similar registered one. Show the explanation only to the operator
 * of the client, because it contains a registered URI. For a URI on an unrelated host, the explanation quotes only the
 * scheme and host, so clients cannot write arbitrary text into the log.
 */
export function explainRedirect(
  sent: string,
  registered: readonly string[],
  name: 'redirect_uri' | 'post_logout_redirect_uri' = 'redirect_uri',
): string {
  const url = URL.parse(sent)
  if (url === null) return `${name} is not an absolute URI`
  const [nearest] = registered
    .flatMap((address) => describeDifference(url, sent, address) ?? [])
    .sort((a, b) => a.distance - b.distance)
  const atHost = `${name} at ${shownUri(`${url.protocol}//${url.host}`)} is not registered`
  if (!nearest) return `${atHost}; the client has no registered ${name}`
  const { address, differing, hint } = nearest
  const isElsewhere = differing.includes('host') && hint === undefined
  const told = isElsewhere ? atHost : `${name} ${shownUri(sent)} is not registered`
  const where = differing.join(', ') || 'spelling'
  const why = hint === undefined ? '' : `: ${hint}`
  return `${told}; the nearest, ${shownUri(address)}, differs in its ${where}${why}`
}

/** The parts of a URI, most significant first. */
const parts: readonly [name: string, of: (url: URL, spelled: string) => string][] = [
  ['host', ({ hostname }) => hostname],
  ['scheme', ({ protocol }) => protocol],
  ['path', ({ pathname }) => pathname],
  ['port', ({ port }) => port],
  ['query', (_url, spelled) => /\?[^#]*/.exec(spelled)?.[0] ?? ''],
  ['fragment', (_url, spelled) => /#.*$/s.exec(spelled)?.[0] ?? ''],
  ['user info', ({ username, password }) => `${username}:${password}`],
]

function describeDifference(sentUrl: URL, sent: string, address: string) {
  const url = URL.parse(address)
  if (url === null) return undefined
  const unlike = parts.filter(([, of]) => of(sentUrl, sent) !== of(url, address))
  const hint = mistakeHint(sentUrl, url)
  // Prefer a registered URI that differs by a common mistake.
  const weight = unlike.reduce((sum, part) => sum + parts.length - parts.indexOf(part), 0)
  const distance = weight - (hint === undefined ? 0 : parts.length - 1)
  return { address, differing: unlike.map(([name]) => name), hint, distance }
}

/** Names the common mistake in the sent URI, compared with the registered one. Returns undefined if there is none. */
function mistakeHint(sent: URL, registered: URL): string | undefined {
  const hosts = [sent.hostname, registered.hostname]
  if (hosts[0] !== hosts[1] && hosts.every(isLoopbackHost)) {
    return 'localhost, 127.0.0.1 and [::1] are different hosts'
  }
  const [path = '', registeredPath = ''] = [sent.pathname, registered.pathname]
  if (path !== registeredPath) {
    if (path.replace(/\/$/, '') === registeredPath.replace(/\/$/, '')) {
      return 'the trailing slash must match'
    }
    if (path.toLowerCase() === registeredPath.toLowerCase()) {
      return 'the path is case-sensitive'
    }
  }
  const isWeb = [sent, registered].every(({ protocol }) => /^https?:$/.test(protocol))
  const isOtherScheme =
    isWeb && sent.host === registered.host && sent.protocol !== registered.protocol
  return isOtherScheme ? 'http and https are different schemes' : undefined
}
