import { asClaude, asPortal } from '../support/client.ts'
import type { Fields } from '../support/wire.ts'
import { type Row, row, tableOf } from './case.ts'
import { ask, type World } from './world.ts'

const NOWHERE = 'page 400 invalid_redirect_uri'

/** Variants of a registered URI that a lenient comparison could accept. */
const spellings: readonly (readonly [what: string, respell: (registered: URL) => string])[] = [
  ['a path parameter before a dot segment (CVE-2026-3872)', ({ href }) => `${href}/..;/evil`],
  ['several @ before the host (CVE-2026-7504)', host((name) => `${name}@@evil.example`)],
  ['user name and password (CVE-2026-28512)', host((name) => `${name}:443@evil.example`)],
  ['the path in upper case (CVE-2020-15234)', (uri) => uri.origin + uri.pathname.toUpperCase()],
  ['an unregistered query (CVE-2020-15233)', ({ href }) => `${href}?next=https://evil.example`],
  ['an empty query', ({ href }) => `${href}?`],
  ['an empty fragment', ({ href }) => `${href}#`],
  ['a letter of the path percent-encoded', encodeLetter],
  ['a trailing encoded slash', ({ href }) => `${href}%2f`],
  ['encoded dot segments', ({ href }) => `${href}/%2e%2e/evil`],
  ['a line break in the middle', ({ href }) => href.replace('/c', '/\nc').replace('/a', '/\na')],
  ['a tab in the scheme', ({ href }) => href.replace('://', ':\t//')],
  ['a trailing space', ({ href }) => `${href} `],
  ['a backslash instead of a slash', ({ href }) => href.replace('://', ':/\\')],
  ['the scheme in upper case', ({ href }) => href.replace(/^[a-z]+/, (name) => name.toUpperCase())],
  ['the host in upper case', host((name) => name.toUpperCase())],
  ['an ideographic full stop in the host', host((name) => name.replace('.', '。'))],
  ['a homograph of the host', host((name) => name.replace(/[ao0]/, 'а'))],
  ['a subdomain of the host', host((name) => `evil.${name}`)],
  ['the host as prefix of another (CVE-2026-41569)', host((name) => `${name}.evil.example`)],
  ['a path parameter', ({ href }) => `${href};jsessionid=1`],
  ['a double slash', ({ origin, pathname }) => `${origin}/${pathname}`],
  ['two URIs separated by a space', ({ href }) => `${href} https://evil.example/`],
  ['two URIs separated by a comma', ({ href }) => `${href},https://evil.example/`],
  ['a trailing NUL', ({ href }) => `${href}\0`],
  ['a path of 8,000 characters', ({ href }) => `${href}/${'x'.repeat(8000)}`],
]

function encodeLetter({ origin, pathname }: URL): string {
  return `${origin}/%${pathname.charCodeAt(1).toString(16)}${pathname.slice(2)}`
}

function host(change: (host: string) => string) {
  return (registered: URL) => registered.href.replace(registered.host, change(registered.host))
}

const { client_id, redirect_uri: portalUri } = asPortal

/** Each spelling for each kind of callback: web, platform and loopback. */
const rows = (
  [
    ['of a confidential web application', 1000, { client_id }, portalUri],
    ['of a platform', 1100, { client_id: asClaude.client_id }, asClaude.redirect_uri],
    ['of a native application', 1200, {}, 'http://127.0.0.1:4711/callback'],
  ] as const
).flatMap(([kind, first, client, uri]) =>
  spellings.flatMap(([what, respell], position): Row[] => {
    const redirect_uri = respell(new URL(uri))
    // Skip a spelling that changes nothing, such as digits in upper case.
    if (redirect_uri === uri) return []
    const send = async ({ url }: World) => await ask(url, { ...client, redirect_uri })
    return [[first + position, [`redirect URI with ${what}`, kind], NOWHERE, send]]
  }),
)

const evil = 'https://evil.example/'
const chatgpt = { client_id: 'integration-chatgpt' }
const connector = 'https://chatgpt.com/connector/oauth/'

const wrong = { response_type: 'nonsense', scope: '' }
const otherPort = 'https://portal.example:4711/callback'

type Other = readonly [number: number, what: string, redirectUri: string, Fields?]

const modeRow = (number: number, response_mode: string, advisory: string): Other => {
  const attack = `foreign redirect URI with response_mode=${response_mode} (${advisory})`
  return [number, attack, evil, { response_mode }]
}

/** Requests that must not redirect, besides those with one of the `spellings`. */
const others: readonly Other[] = [
  [1301, 'redirect URI of another client', portalUri],
  [1303, 'foreign redirect URI in a request with other errors', evil, wrong],
  [1304, 'foreign redirect URI with prompt=none', evil, { prompt: 'none' }],
  modeRow(1305, 'form_post', 'CVE-2024-21637'),
  modeRow(1306, 'form_post.jwt', 'GHSA-9vm7-v8wj-3fqw'),
  modeRow(1307, 'fragment', 'CVE-2022-1970'),
  [1308, 'javascript: URI in mixed case (CVE-2026-9086)', 'JaVaScRiPt:alert(1)'],
  [
    1309,
    'foreign redirect URI after the registered one, joined by an encoded ampersand (CVE-2026-9689)',
    `https://notes.example/callback&redirect_uri=${evil}`,
  ],
  [1310, 'loopback redirect URI with an invalid port', 'http://127.0.0.1:65536/callback'],
  [1312, 'loopback redirect URI over https', 'https://127.0.0.1/callback'],
  [1313, 'loopback redirect URI with localhost (CVE-2024-8883)', 'http://localhost/callback'],
  [1314, 'registered web redirect URI at another port', otherPort, { client_id }],
  [1315, 'redirect URI with a free segment, with more segments', `${connector}a/b`, chatgpt],
  [1316, 'redirect URI with a free segment, encoded', `${connector}%61`, chatgpt],
  [1317, 'unregistered redirect URI with a free segment', `${connector}unregistered`, chatgpt],
]

const otherRows: readonly Row[] = [
  [
    1300,
    'no redirect URI, although the client has one (Keycloak and ZITADEL assume it)',
    'page 400 invalid_request',
    async ({ url }) => await ask(url, { client_id, redirect_uri: undefined }),
  ],
  row(1302, 'redirect URI of the pages of this service', NOWHERE, async ({ url }) => {
    return await ask(url, { redirect_uri: `${url}/signed-in` })
  }),
  ...others.map(([number, what, redirect_uri, fields]) =>
    row(number, what, NOWHERE, async ({ url }) => await ask(url, { ...fields, redirect_uri })),
  ),
]

/** Values of client_id for which no metadata document is fetched. test/metadata-document.test.ts has further values. */
const documentRows = (
  [
    [1401, 'of a host that is not allowed', 'https://evil.example/client.json'],
    [1403, 'of a host with an allowed one as suffix', 'https://evilclaude.ai/client.json'],
    [1412, 'of the loopback address (CVE-2024-49753)', 'https://127.0.0.1/client.json'],
    [1419, 'with scheme data:', 'data:application/json,{}'],
  ] as const
).map(([number, what, client_id]) =>
  row(
    number,
    `client_id of a metadata document ${what}`,
    'page 400 invalid_client',
    async ({ url }) => await ask(url, { client_id, redirect_uri: evil }),
  ),
)

export const redirectCases = tableOf('Redirect URIs and client_id URLs', 'redirect-cases.ts', [
  ...rows,
  ...otherRows,
  ...documentRows,
])
