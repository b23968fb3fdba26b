import { asClaude, asPortal } from '../support/client.ts'
import type { Fields } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import { ask, type World } from './world.ts'

const NOWHERE = 'page 400 invalid_redirect_uri'

/** Variants of a registered URI that a lenient parser takes for the same. */
const spellings: readonly (readonly [what: string, respell: (registered: URL) => string])[] = [
  ['a path parameter before a dot segment (CVE-2026-3872)', ({ href }) => `${href}/..;/evil`],
  [
    'several @ before the host (CVE-2026-7504)',
    ({ href, host }) => href.replace(host, `${host}@@evil.example`),
  ],
  [
    'user name and password (CVE-2026-28512)',
    ({ href, host }) => href.replace(host, `${host}:443@evil.example`),
  ],
  [
    'the path in upper case (CVE-2020-15234)',
    ({ origin, pathname }) => origin + pathname.toUpperCase(),
  ],
  ['an unregistered query (CVE-2020-15233)', ({ href }) => `${href}?next=https://evil.example`],
  ['an empty query', ({ href }) => `${href}?`],
  ['an empty fragment', ({ href }) => `${href}#`],
  [
    'a letter of the path percent-encoded',
    ({ origin, pathname }) =>
      `${origin}/%${pathname.charCodeAt(1).toString(16)}${pathname.slice(2)}`,
  ],
  ['a trailing encoded slash', ({ href }) => `${href}%2f`],
  ['encoded dot segments', ({ href }) => `${href}/%2e%2e/evil`],
  ['a line break in the middle', ({ href }) => href.replace('/c', '/\nc').replace('/a', '/\na')],
  ['a tab in the scheme', ({ href }) => href.replace('://', ':\t//')],
  ['a trailing space', ({ href }) => `${href} `],
  ['a backslash instead of a slash', ({ href }) => href.replace('://', ':/\\')],
  [
    'the scheme in upper case',
    ({ href }) => href.replace(/^[a-z]+/, (scheme) => scheme.toUpperCase()),
  ],
  ['the host in upper case', ({ href, host }) => href.replace(host, host.toUpperCase())],
  [
    'an ideographic full stop in the host',
    ({ href, host }) => href.replace(host, host.replace('.', '。')),
  ],
  ['a homograph of the host', ({ href, host }) => href.replace(host, host.replace(/[ao0]/, 'а'))],
  ['a subdomain of the host', ({ href, host }) => href.replace(host, `evil.${host}`)],
  [
    'the host as prefix of another (CVE-2026-41569)',
    ({ href, host }) => href.replace(host, `${host}.evil.example`),
  ],
  ['a path parameter', ({ href }) => `${href};jsessionid=1`],
  ['a double slash', ({ origin, pathname }) => `${origin}/${pathname}`],
  ['two URIs separated by a space', ({ href }) => `${href} https://evil.example/`],
  ['two URIs separated by a comma', ({ href }) => `${href},https://evil.example/`],
  ['a trailing NUL', ({ href }) => `${href}\0`],
  ['a path of 8,000 characters', ({ href }) => `${href}/${'x'.repeat(8000)}`],
]

/** Clients with a web callback, a platform callback and a loopback callback. */
const kinds: readonly (readonly [
  kind: string,
  first: number,
  fields: Fields,
  registered: string,
])[] = [
  ['of a confidential web application', 1000, asPortal, asPortal.redirect_uri],
  ['of a platform', 1100, asClaude, asClaude.redirect_uri],
  ['of a native application', 1200, {}, 'http://127.0.0.1:4711/callback'],
]

const rows = kinds.flatMap(([kind, first, fields, registered]) =>
  spellings.flatMap(([what, respell], position): Row[] => {
    const redirect_uri = respell(new URL(registered))
    // Digits have no upper case.
    if (redirect_uri === registered) return []
    const { client_secret: _none, ...request } = { client_secret: undefined, ...fields }
    return [
      [
        first + position,
        [`redirect URI with ${what}`, kind],
        NOWHERE,
        async ({ url }) => await ask(url, { ...request, redirect_uri }),
      ],
    ]
  }),
)

const { client_id } = asPortal
const portalOnly = { client_id, redirect_uri: asPortal.redirect_uri }
const chatgpt = { client_id: 'integration-chatgpt' }
const connector = 'https://chatgpt.com/connector/oauth/'

/** Other requests that must not redirect. */
const others: readonly Row[] = [
  [
    1300,
    'no redirect URI, although the client has one (Keycloak and ZITADEL assume it)',
    'page 400 invalid_request',
    async ({ url }) => await ask(url, { ...portalOnly, redirect_uri: undefined }),
  ],
  [
    1301,
    'redirect URI of another client',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: asPortal.redirect_uri }),
  ],
  [
    1302,
    'redirect URI of the pages of this service',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: `${url}/signed-in` }),
  ],
  [
    1303,
    'foreign redirect URI in a request with other errors',
    NOWHERE,
    async ({ url }) =>
      await ask(url, {
        redirect_uri: 'https://evil.example/',
        response_type: 'nonsense',
        scope: '',
      }),
  ],
  [
    1304,
    'foreign redirect URI with prompt=none',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'https://evil.example/', prompt: 'none' }),
  ],
  [
    1305,
    'foreign redirect URI with response_mode=form_post (CVE-2024-21637)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { redirect_uri: 'https://evil.example/', response_mode: 'form_post' }),
  ],
  [
    1306,
    'foreign redirect URI with response_mode=form_post.jwt (GHSA-9vm7-v8wj-3fqw)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { redirect_uri: 'https://evil.example/', response_mode: 'form_post.jwt' }),
  ],
  [
    1307,
    'foreign redirect URI with response_mode=fragment (CVE-2022-1970)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { redirect_uri: 'https://evil.example/', response_mode: 'fragment' }),
  ],
  [
    1308,
    'javascript: URI in mixed case (CVE-2026-9086)',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'JaVaScRiPt:alert(1)' }),
  ],
  [
    1309,
    'foreign redirect URI after the registered one, joined by an encoded ampersand (CVE-2026-9689)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, {
        redirect_uri: 'https://notes.example/callback&redirect_uri=https://evil.example/',
      }),
  ],
  [
    1310,
    'loopback redirect URI with an invalid port',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'http://127.0.0.1:65536/callback' }),
  ],
  [
    1312,
    'loopback redirect URI over https',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'https://127.0.0.1/callback' }),
  ],
  [
    1313,
    'loopback redirect URI with localhost (CVE-2024-8883)',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'http://localhost/callback' }),
  ],
  [
    1314,
    'registered web redirect URI at another port',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { ...portalOnly, redirect_uri: 'https://portal.example:4711/callback' }),
  ],
  [
    1315,
    'redirect URI with a free segment, with more segments',
    NOWHERE,
    async ({ url }) => await ask(url, { ...chatgpt, redirect_uri: `${connector}a/b` }),
  ],
  [
    1316,
    'redirect URI with a free segment, encoded',
    NOWHERE,
    async ({ url }) => await ask(url, { ...chatgpt, redirect_uri: `${connector}%61` }),
  ],
  [
    1317,
    'redirect URI with a free segment that is not registered',
    NOWHERE,
    async ({ url }) => await ask(url, { ...chatgpt, redirect_uri: `${connector}unregistered` }),
  ],
]

/** Values of client_id for which no metadata document is fetched. */
const documents: readonly (readonly [what: string, address: string])[] = [
  ['over http', 'http://claude.ai/client.json'],
  ['of a host that is not allowed', 'https://evil.example/client.json'],
  ['of a host with an allowed one as prefix', 'https://claude.ai.evil.example/client.json'],
  ['of a host with an allowed one as suffix', 'https://evilclaude.ai/client.json'],
  ['of a subdomain of an allowed host', 'https://evil.claude.ai/client.json'],
  ['with an allowed host as user name', 'https://claude.ai@evil.example/client.json'],
  ['with user name and password', 'https://a:b@claude.ai/client.json'],
  ['at another port', 'https://claude.ai:8443/client.json'],
  ['without a path', 'https://claude.ai'],
  ['with a dot segment', 'https://claude.ai/a/../client.json'],
  ['with an encoded dot segment', 'https://claude.ai/%2e%2e/client.json'],
  ['with a fragment', 'https://claude.ai/client.json#evil'],
  ['of the loopback address (CVE-2024-49753)', 'https://127.0.0.1/client.json'],
  ['of the IPv6 loopback address', 'https://[::1]/client.json'],
  ['of the IPv4-mapped loopback address', 'https://[::ffff:127.0.0.1]/client.json'],
  ['of a cloud metadata service', 'https://169.254.169.254/latest/meta-data'],
  ['of the loopback address as a decimal number', 'https://2130706433/client.json'],
  ['with a backslash', 'https://claude.ai\\@evil.example/client.json'],
  ['with scheme file:', 'file:///etc/passwd'],
  ['with scheme data:', 'data:application/json,{}'],
]

const documentRows = documents.map(
  ([what, clientId], position): Row => [
    1400 + position,
    `client_id of a metadata document ${what}`,
    'page 400 invalid_client',
    async ({ url }: World) =>
      await ask(url, { client_id: clientId, redirect_uri: 'https://evil.example/' }),
  ],
)

export const redirectCases = tableOf('Redirect URIs and client_id URLs', 'redirect-cases.ts', [
  ...rows,
  ...others,
  ...documentRows,
])
