const SHOWN_MAX = 100

/** Makes a URI safe to show. Drops query, fragment and user info, shortens it, and masks all but visible ASCII. */
export function shownUri(sent: string): string {
  const [, bare = '', mark = ''] = /^([^?#]*)([?#]?)/.exec(sent) ?? []
  const named = bare.replace(/^([^/]*:\/\/)[^/]*@/, '$1…@')
  const cut = named.length > SHOWN_MAX ? `${named.slice(0, SHOWN_MAX)}…` : named
  return `${cut}${mark && `${mark}…`}`.replaceAll(/[^\x21-\x7e…]/g, '·')
}

/**
 * Explains how a redirect URI differs from the most similar registered one. Show the explanation only to the operator
 * of the client, because it contains a registered URI. For a URI on an unrelated host, the explanation contains only
 * the scheme and host, so callers cannot write arbitrary text into the log.
 */
export function explainRedirect(
  sent: string,
  registered: readonly string[],
  name: 'redirect_uri' | 'post_logout_redirect_uri' = 'redirect_uri',
): string {
  const url = URL.parse(sent)
  if (url === null) return `${name} is not an absolute URI`
  const [nearest] = registered
    .flatMap((address) => differenceOf(url, sent, address) ?? [])
    .sort((a, b) => a.distance - b.distance)
  const atHost = `${name} at ${shownUri(`${url.protocol}//${url.host}`)} is not registered`
  if (!nearest) return `${atHost}; the client has no registered ${name}`
  const { address, differing } = nearest
  const told = differing.includes('host') ? atHost : `${name} ${shownUri(sent)} is not registered`
  const where = differing.join(', ') || 'spelling'
  return `${told}; the nearest, ${shownUri(address)}, differs in its ${where}`
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

function differenceOf(sentUrl: URL, sent: string, address: string) {
  const url = URL.parse(address)
  if (url === null) return undefined
  const unlike = parts.filter(([, of]) => of(sentUrl, sent) !== of(url, address))
  const distance = unlike.reduce((sum, part) => sum + parts.length - parts.indexOf(part), 0)
  return { address, differing: unlike.map(([name]) => name), distance }
}
