import { isLoopbackHost } from '../../platform/http/loopback.ts'

/**
 * In which part a return address that a client sent differs from the one among its own that is nearest.
 * For the operator of the client only: it names an address that is registered.
 */

const SHOWN_MAX = 100

/**
 * An address as it may be shown and logged: as visible ASCII, shortened, and without what a query, a
 * fragment or a name before the host may hold.
 */
export function shownUri(sent: string): string {
  const [, bare = '', mark = ''] = /^([^?#]*)([?#]?)/.exec(sent) ?? []
  const named = bare.replace(/^([^/]*:\/\/)[^/]*@/, '$1…@')
  const cut = named.length > SHOWN_MAX ? `${named.slice(0, SHOWN_MAX)}…` : named
  return `${cut}${mark && `${mark}…`}`.replaceAll(/[^\x21-\x7e…]/g, '·')
}

interface Part {
  readonly name: string
  readonly of: (url: URL, spelled: string) => string
}

/** From the one that tells addresses apart the most. */
const parts: readonly Part[] = [
  { name: 'host', of: ({ hostname }) => hostname },
  { name: 'scheme', of: ({ protocol }) => protocol.slice(0, -1) },
  { name: 'path', of: ({ pathname }) => pathname },
  { name: 'port', of: ({ port }) => port },
  { name: 'query', of: (_url, spelled) => /\?[^#]*/.exec(spelled)?.[0] ?? '' },
  { name: 'fragment', of: (_url, spelled) => /#.*$/s.exec(spelled)?.[0] ?? '' },
  { name: 'name before the host', of: ({ username, password }) => `${username}:${password}` },
]

interface Difference {
  readonly registered: string
  readonly differing: readonly string[]
  readonly hint: string | undefined
  readonly distance: number
}

/**
 * Of an address of another host the host is named and no more: the log keeps nothing that a stranger
 * chose freely.
 *
 * @param registered those of the client, in the order in which it has them
 */
export function explainRedirect(sent: string, registered: readonly string[]): string {
  const url = URL.parse(sent)
  if (url === null) return 'redirect_uri is no absolute address'
  const [nearest] = registered
    .flatMap((address) => differenceOf(url, sent, address) ?? [])
    .sort((a, b) => a.distance - b.distance)
  const atHost = `redirect_uri at ${shownUri(`${url.protocol}//${url.host}`)} is not registered`
  if (!nearest) return `${atHost}, nor is any other address`
  const { differing, hint } = nearest
  const isElsewhere = differing.includes('host') && hint === undefined
  const told = isElsewhere ? atHost : `redirect_uri ${shownUri(sent)} is not registered`
  const where = differing.length === 0 ? 'spelling' : differing.join(', ')
  const why = hint === undefined ? '' : `: ${hint}`
  return `${told}; the nearest, ${shownUri(nearest.registered)}, differs in its ${where}${why}`
}

function differenceOf(sentUrl: URL, sent: string, registered: string): Difference | undefined {
  const url = URL.parse(registered)
  if (url === null) return undefined
  const unlike = parts.filter(({ of }) => of(sentUrl, sent) !== of(url, registered))
  const hint = hints.find(([, applies]) => applies(sentUrl, url))?.[0]
  // A part that is another one's likely mistake weighs less than one that is simply other.
  const weight = unlike.reduce((sum, part) => sum + parts.length - parts.indexOf(part), 0)
  const distance = weight - (hint === undefined ? 0 : parts.length - 1)
  return { registered, differing: unlike.map(({ name }) => name), hint, distance }
}

const withoutSlash = ({ pathname }: URL) => pathname.replace(/\/$/, '')

/** The mistakes that are made the most. */
const hints: readonly (readonly [
  hint: string,
  applies: (sent: URL, registered: URL) => boolean,
])[] = [
  [
    'the names of one machine are told apart',
    (sent, { hostname }) =>
      sent.hostname !== hostname && [sent.hostname, hostname].every(isLoopbackHost),
  ],
  [
    'a slash at the end counts',
    (sent, registered) =>
      sent.pathname !== registered.pathname && withoutSlash(sent) === withoutSlash(registered),
  ],
  [
    'large and small letters of a path are told apart',
    (sent, { pathname }) =>
      sent.pathname !== pathname && sent.pathname.toLowerCase() === pathname.toLowerCase(),
  ],
  [
    'http and https are two schemes',
    (sent, { host, protocol }) => sent.host === host && sent.protocol !== protocol,
  ],
]
