import { asClaude, asPortal } from '../support/client.ts'
import type { Fields } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import { ask, type World } from './world.ts'

const NOWHERE = 'page 400 invalid_redirect_uri'

/** How an address that was registered is spelled anew, so that a parser takes it for the same. */
const spellings: readonly (readonly [what: string, respell: (registered: URL) => string])[] = [
  ['a path parameter before a dot segment (CVE-2026-3872)', ({ href }) => `${href}/..;/evil`],
  [
    'several @ before the host (CVE-2026-7504)',
    ({ href, host }) => href.replace(host, `${host}@@evil.example`),
  ],
  [
    'a password and a name (CVE-2026-28512)',
    ({ href, host }) => href.replace(host, `${host}:443@evil.example`),
  ],
  [
    'the path in other letters (CVE-2020-15234)',
    ({ origin, pathname }) => origin + pathname.toUpperCase(),
  ],
  [
    'a query that was not registered (CVE-2020-15233)',
    ({ href }) => `${href}?next=https://evil.example`,
  ],
  ['an empty query', ({ href }) => `${href}?`],
  ['an empty fragment', ({ href }) => `${href}#`],
  [
    'a letter of the path percent-encoded',
    ({ origin, pathname }) =>
      `${origin}/%${pathname.charCodeAt(1).toString(16)}${pathname.slice(2)}`,
  ],
  ['an encoded slash at the end', ({ href }) => `${href}%2f`],
  ['encoded dot segments', ({ href }) => `${href}/%2e%2e/evil`],
  ['a line break in the middle', ({ href }) => href.replace('/c', '/\nc').replace('/a', '/\na')],
  ['a tab in the scheme', ({ href }) => href.replace('://', ':\t//')],
  ['a space at the end', ({ href }) => `${href} `],
  ['a backslash for a slash', ({ href }) => href.replace('://', ':/\\')],
  [
    'the scheme in capitals',
    ({ href }) => href.replace(/^[a-z]+/, (scheme) => scheme.toUpperCase()),
  ],
  ['the host in capitals', ({ href, host }) => href.replace(host, host.toUpperCase())],
  [
    'an ideographic full stop in the host',
    ({ href, host }) => href.replace(host, host.replace('.', '。')),
  ],
  [
    'a host that only looks the same (homograph)',
    ({ href, host }) => href.replace(host, host.replace(/[ao0]/, 'а')),
  ],
  ['a name below the host', ({ href, host }) => href.replace(host, `evil.${host}`)],
  [
    'the host as the beginning of another (CVE-2026-41569)',
    ({ href, host }) => href.replace(host, `${host}.evil.example`),
  ],
  ['a parameter of the path', ({ href }) => `${href};jsessionid=1`],
  ['a slash twice', ({ origin, pathname }) => `${origin}/${pathname}`],
  ['two addresses with a space between', ({ href }) => `${href} https://evil.example/`],
  ['two addresses with a comma between', ({ href }) => `${href},https://evil.example/`],
  ['a NUL at the end', ({ href }) => `${href}\0`],
  ['a path of 8,000 characters', ({ href }) => `${href}/${'x'.repeat(8000)}`],
]

/** The clients have addresses of the web, of a platform and of the person's own computer. */
const kinds: readonly (readonly [
  kind: string,
  first: number,
  fields: Fields,
  registered: string,
])[] = [
  ['a confidential web application', 1000, asPortal, asPortal.redirect_uri],
  ['a platform', 1100, asClaude, asClaude.redirect_uri],
  ['a native application', 1200, {}, 'http://127.0.0.1:4711/callback'],
]

const rows = kinds.flatMap(([kind, first, fields, registered]) =>
  spellings.flatMap(([what, respell], position): Row[] => {
    const redirect_uri = respell(new URL(registered))
    // Digits have no capitals.
    if (redirect_uri === registered) return []
    const { client_secret: _none, ...request } = { client_secret: undefined, ...fields }
    return [
      [
        first + position,
        `the redirect address of ${kind} with ${what}`,
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

/** How a request that is to end nowhere may be sent otherwise. */
const others: readonly Row[] = [
  [
    1300,
    'no redirect address at all, of a client that has one (Keycloak, ZITADEL: taken for granted)',
    'page 400 invalid_request',
    async ({ url }) => await ask(url, { ...portalOnly, redirect_uri: undefined }),
  ],
  [
    1301,
    'the address of another client',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: asPortal.redirect_uri }),
  ],
  [
    1302,
    'the address of the pages of this service',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: `${url}/signed-in` }),
  ],
  [
    1303,
    'a foreign address, to be told of an error in the rest of the request',
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
    'a foreign address with prompt=none',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'https://evil.example/', prompt: 'none' }),
  ],
  [
    1305,
    'a foreign address with response_mode=form_post (CVE-2024-21637)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { redirect_uri: 'https://evil.example/', response_mode: 'form_post' }),
  ],
  [
    1306,
    'a foreign address with response_mode=form_post.jwt (GHSA-9vm7-v8wj-3fqw)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { redirect_uri: 'https://evil.example/', response_mode: 'form_post.jwt' }),
  ],
  [
    1307,
    'a foreign address with response_mode=fragment (CVE-2022-1970)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { redirect_uri: 'https://evil.example/', response_mode: 'fragment' }),
  ],
  [
    1308,
    'an address that runs script, in capitals (CVE-2026-9086)',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'JaVaScRiPt:alert(1)' }),
  ],
  [
    1309,
    'a foreign address after the good one, joined by an encoded ampersand (CVE-2026-9689)',
    NOWHERE,
    async ({ url }) =>
      await ask(url, {
        redirect_uri: 'https://notes.example/callback&redirect_uri=https://evil.example/',
      }),
  ],
  [
    1310,
    'the loopback address on a port that there is not',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'http://127.0.0.1:65536/callback' }),
  ],
  [
    1312,
    'the loopback address over https',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'https://127.0.0.1/callback' }),
  ],
  [
    1313,
    'the loopback address by its name (CVE-2024-8883)',
    NOWHERE,
    async ({ url }) => await ask(url, { redirect_uri: 'http://localhost/callback' }),
  ],
  [
    1314,
    'a registered web address at another port',
    NOWHERE,
    async ({ url }) =>
      await ask(url, { ...portalOnly, redirect_uri: 'https://portal.example:4711/callback' }),
  ],
  [
    1315,
    'an address of a free segment, with more segments',
    NOWHERE,
    async ({ url }) => await ask(url, { ...chatgpt, redirect_uri: `${connector}a/b` }),
  ],
  [
    1316,
    'an address of a free segment, encoded',
    NOWHERE,
    async ({ url }) => await ask(url, { ...chatgpt, redirect_uri: `${connector}%61` }),
  ],
  [
    1317,
    'an address of a free segment that nobody registered',
    NOWHERE,
    async ({ url }) => await ask(url, { ...chatgpt, redirect_uri: `${connector}unregistered` }),
  ],
]

/** The address that names a metadata document: nothing is fetched for any of these. */
const documents: readonly (readonly [what: string, address: string])[] = [
  ['over http', 'http://claude.ai/client.json'],
  ['of a host that is not admitted', 'https://evil.example/client.json'],
  ['of a host that begins like an admitted one', 'https://claude.ai.evil.example/client.json'],
  ['of a host that ends like an admitted one', 'https://evilclaude.ai/client.json'],
  ['of a name below an admitted host', 'https://evil.claude.ai/client.json'],
  ['with a name before the host', 'https://claude.ai@evil.example/client.json'],
  ['with a password before an admitted host', 'https://a:b@claude.ai/client.json'],
  ['at another port', 'https://claude.ai:8443/client.json'],
  ['without a path', 'https://claude.ai'],
  ['with a dot segment', 'https://claude.ai/a/../client.json'],
  ['with an encoded dot segment', 'https://claude.ai/%2e%2e/client.json'],
  ['with a fragment', 'https://claude.ai/client.json#evil'],
  ['of the machine itself (CVE-2024-49753)', 'https://127.0.0.1/client.json'],
  ['of the machine itself in IPv6', 'https://[::1]/client.json'],
  ['of the machine itself, mapped into IPv6', 'https://[::ffff:127.0.0.1]/client.json'],
  ['of the metadata of a cloud', 'https://169.254.169.254/latest/meta-data'],
  ['of the machine itself as one number', 'https://2130706433/client.json'],
  ['with a backslash', 'https://claude.ai\\@evil.example/client.json'],
  ['that is a file', 'file:///etc/passwd'],
  ['that is data', 'data:application/json,{}'],
]

const documentRows = documents.map(
  ([what, clientId], position): Row => [
    1400 + position,
    `as client_id the address of a document ${what}`,
    'page 400 invalid_client',
    async ({ url }: World) =>
      await ask(url, { client_id: clientId, redirect_uri: 'https://evil.example/' }),
  ],
)

export const redirectCases = tableOf('Where people are sent', 'redirect-cases.ts', [
  ...rows,
  ...others,
  ...documentRows,
])
