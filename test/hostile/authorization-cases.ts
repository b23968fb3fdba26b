import { paths } from '../../src/platform/http/paths.ts'
import { asClaude, authorizeUrl } from '../support/client.ts'
import { notes, resourceServer } from '../support/gatehouse.ts'
import { type Answer, encode, type Fields, FORM, get, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import { ask, type World } from './world.ts'

/** Ambiguous spellings of `resource` (RFC 8707 §2). */
const resources: readonly (readonly [what: string, respell: (url: string) => string])[] = [
  ['with a fragment', (url) => `${url}#x`],
  ['with an empty fragment', (url) => `${url}/#`],
  ['that is a relative URI', () => '/mcp'],
  ['without a scheme', (url) => url.replace('http:', '')],
  ['with a user name', (url) => url.replace('//', '//evil@')],
  ['at another port', (url) => url.replace(/\d+$/, '1')],
  ['over another scheme', (url) => url.replace('http:', 'https:')],
  ['of a subdomain', (url) => url.replace('127.0.0.1', 'evil.127.0.0.1.example')],
  ['with the origin as prefix', (url) => `${url}.evil.example`],
  ['with dot segments', (url) => `${url}/mcp/../../evil`],
  ['with an encoded dot segment', (url) => `${url}/%2e%2e/evil`],
  ['at an unprotected path', (url) => `${url}/elsewhere`],
  ['with scheme javascript:', () => 'javascript:alert(1)'],
  ['with scheme urn:', () => 'urn:gatehouse:member'],
  ['of another loopback address', (url) => url.replace('127.0.0.1', '127.0.0.2')],
  ['of 8,000 characters', (url) => `${url}/${'x'.repeat(8000)}`],
]

const resourceRows = resources.map(
  ([what, respell], position): Row => [
    1500 + position,
    `resource ${what} (GHSA-p2fr-6hmx-4528)`,
    'redirect invalid_target',
    async ({ url }) => await ask(url, { resource: respell(url) }),
  ],
)

/** Single parameters with the expected answer. */
const parameters: readonly (readonly [
  what: string,
  answer: string,
  fields: Fields | ((world: World) => Promise<Fields>),
])[] = [
  ['member scopes without a resource', 'redirect invalid_target', { resource: undefined }],
  [
    'account:write by a platform',
    'redirect invalid_scope',
    { ...asClaude, scope: 'openid account:write' },
  ],
  [
    'scopes of both audiences by a member application',
    'redirect invalid_scope',
    { scope: 'account:read courses:read' },
  ],
  ['scope in upper case', 'redirect invalid_scope', { scope: 'OPENID ACCOUNT:READ' }],
  ['scopes separated by a comma', 'redirect invalid_scope', { scope: 'openid,account:read' }],
  ['scopes separated by a tab', 'redirect invalid_scope', { scope: 'openid\taccount:read' }],
  [
    'scope named like an inherited property',
    'redirect invalid_scope',
    { scope: '__proto__ constructor toString' },
  ],
  [
    'scope with a quotation mark (RFC 6749 §3.3)',
    'redirect invalid_scope',
    { scope: '"account:read"' },
  ],
  ['scope with a wildcard', 'redirect invalid_scope', { scope: 'account:* *' }],
  ['scope with markup', 'redirect invalid_scope', { scope: '<script>alert(1)</script>' }],
  ['invalid id_token_hint', 'redirect invalid_request', { id_token_hint: 'x', prompt: 'none' }],
  [
    'unsigned id_token_hint',
    'redirect invalid_request',
    { id_token_hint: unsigned({ sub: 'per_sam' }), prompt: 'none' },
  ],
  [
    'id_token_hint of a signed-in person without the session',
    'redirect login_required',
    async (world) => ({ id_token_hint: (await world.shared()).idToken, prompt: 'none' }),
  ],
  [
    'access token instead of a session',
    'redirect login_required',
    async (world) => ({ access_token: (await world.shared()).accessToken, prompt: 'none' }),
  ],
  ['prompt=create', 'redirect invalid_request', { prompt: 'create' }],
  [
    'response_type with several types',
    'redirect unsupported_response_type',
    { response_type: 'code id_token token' },
  ],
  ['unknown response_mode', 'redirect unsupported_response_mode', { response_mode: 'constructor' }],
  ['fractional max_age', 'redirect invalid_request', { max_age: '1.5' }],
  [
    'request object (JAR)',
    'redirect request_not_supported',
    { request: `${unsigned({ scope: 'openid' })}x` },
  ],
  [
    'unknown request_uri (PAR)',
    'redirect request_uri_not_supported',
    { request_uri: 'urn:ietf:params:oauth:request_uri:x' },
  ],
  [
    'request_uri of a file',
    'redirect request_uri_not_supported',
    { request_uri: 'file:///etc/passwd' },
  ],
  [
    'request_uri of this service (CVE-2026-27945)',
    'redirect request_uri_not_supported',
    async ({ url }) => ({ request_uri: `${url}/healthz` }),
  ],
  [
    'code_challenge with characters outside base64url',
    'redirect invalid_request',
    { code_challenge: 'é'.repeat(43) },
  ],
  [
    'code_challenge_method with a trailing space (workers-oauth-provider #275)',
    'redirect invalid_request',
    { code_challenge_method: 'S256 ' },
  ],
  ['client_id with SQL', 'page 400 invalid_client', { client_id: "northlight-notes' or '1'='1" }],
  [
    'client_id in upper case',
    'page 400 invalid_client',
    { client_id: notes.clientId.toUpperCase() },
  ],
  [
    'client_id with a trailing space',
    'page 400 invalid_client',
    { client_id: `${notes.clientId} ` },
  ],
  [
    'client_id with a trailing NUL',
    'page 400 invalid_client',
    { client_id: `${notes.clientId}\0` },
  ],
  [
    'client_id of a resource server',
    'page 400 invalid_redirect_uri',
    { client_id: resourceServer.clientId },
  ],
  [
    'client of the own pages with a foreign redirect URI',
    'page 400 invalid_redirect_uri',
    { client_id: 'gatehouse-pages' },
  ],
  [
    'client credentials in the query',
    'the sign-in',
    { client_secret: 'x', client_assertion: 'a.b.c' },
  ],
  [
    'grant, person and site in the query',
    'the sign-in',
    { grant_id: 'x', sub: 'per_olivia', account_id: 'per_olivia', site: 'sit_open_kitchen' },
  ],
  ['very long ui_locales', 'redirect invalid_request', { ui_locales: 'x-'.repeat(2000) }],
  [
    'deeply nested claims',
    'redirect invalid_request',
    { claims: `${'{"a":'.repeat(500)}1${'}'.repeat(500)}` },
  ],
]

function unsigned(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}

const parameterRows = parameters.map(
  ([what, answer, fields], position): Row => [
    1540 + position,
    what,
    answer,
    async (world) =>
      await ask(world.url, typeof fields === 'function' ? await fields(world) : fields),
  ],
)

/** The authorization endpoint redirects POST to GET, which decides. */
async function askByPost(url: string, fields: Fields, type?: string): Promise<Answer> {
  const { searchParams } = authorizeUrl(url, fields)
  const answer = await send(url, {
    method: 'POST',
    path: paths.authorization,
    headers: [...(type === undefined ? FORM : ['Content-Type', type]), 'Accept', 'text/html'],
    body: searchParams,
  })
  const location = answer.headers.get('location')
  if (location === null) return answer
  return await get(new URL(location, url).href, ['Accept', 'text/html'])
}

const methods: readonly Row[] = [
  [
    1600,
    'foreign redirect URI by POST',
    'page 400 invalid_redirect_uri',
    async ({ url }) => await askByPost(url, { redirect_uri: 'https://evil.example/' }),
  ],
  [
    1601,
    'two redirect URIs by POST (CVE-2026-9689)',
    'page 400 invalid_request',
    async ({ url }) =>
      await askByPost(url, { redirect_uri: [notes.redirectUri, 'https://evil.example/'] }),
  ],
  [
    1602,
    'no code_challenge by POST',
    'redirect invalid_request',
    async ({ url }) => await askByPost(url, { code_challenge: undefined }),
  ],
  [
    1603,
    'foreign resource by POST',
    'redirect invalid_target',
    async ({ url }) => await askByPost(url, { resource: 'https://evil.example' }),
  ],
  [
    1604,
    'prompt=none by POST, without a session',
    'redirect login_required',
    async ({ url }) => await askByPost(url, { prompt: 'none' }),
  ],
  [
    1605,
    'request as multipart',
    'page 415 invalid_request',
    async ({ url }) => await askByPost(url, {}, 'multipart/form-data; boundary=x'),
  ],
  [
    1606,
    'request as text/plain, which foreign pages may send',
    'page 415 invalid_request',
    async ({ url }) => await askByPost(url, {}, 'text/plain'),
  ],
  ...['PUT', 'DELETE', 'PATCH', 'TRACE'].map(
    (method, position): Row => [
      1610 + position,
      `request by ${method}`,
      'page 404 not_found',
      async ({ url }) => await ask(url, {}, { method }),
    ],
  ),
  [
    1620,
    'bearer token instead of a session',
    'redirect login_required',
    async (world) =>
      await ask(
        world.url,
        { prompt: 'none' },
        { headers: ['Authorization', `Bearer ${(await world.shared()).accessToken}`] },
      ),
  ],
  [
    1621,
    'method override header',
    'the sign-in',
    async ({ url }) => await ask(url, {}, { headers: ['X-HTTP-Method-Override', 'DELETE'] }),
  ],
  [
    1622,
    'forged session cookie',
    'redirect login_required',
    async ({ url }) =>
      await ask(url, { prompt: 'none' }, { headers: ['Cookie', 'gatehouse=x; gatehouse.sig=x'] }),
  ],
  [
    1623,
    'session cookie without signature',
    'redirect login_required',
    async ({ url }) =>
      await ask(url, { prompt: 'none' }, { headers: ['Cookie', 'gatehouse=__proto__'] }),
  ],
  [
    1624,
    'foreign Host, as after DNS rebinding (CVE-2025-64101)',
    'the sign-in',
    async ({ url }) => await ask(url, {}, { headers: ['Host', 'evil.example'] }),
  ],
  [
    1625,
    'foreign X-Forwarded-Host (GHSA-93m4-mfpg-c3xf)',
    'the sign-in',
    async ({ url }) =>
      await ask(
        url,
        {},
        { headers: ['X-Forwarded-Host', 'evil.example', 'Forwarded', 'host=evil.example'] },
      ),
  ],
  [
    1626,
    'path in other spellings, to bypass a prefix rule',
    'page 404 not_found',
    async ({ url }) => [
      await send(url, {
        path: `${paths.authorization}/?${encode({ client_id: 'x' })}`,
        headers: ['Accept', 'text/html'],
      }),
      await send(url, { path: '/oauth//authorize', headers: ['Accept', 'text/html'] }),
      await send(url, { path: '/OAUTH/AUTHORIZE', headers: ['Accept', 'text/html'] }),
      await send(url, { path: '/oauth/%61uthorize', headers: ['Accept', 'text/html'] }),
      await send(url, { path: '/oauth/x/..;/authorize', headers: ['Accept', 'text/html'] }),
    ],
  ],
]

export const authorizationCases = tableOf('Authorization requests', 'authorization-cases.ts', [
  ...resourceRows,
  ...parameterRows,
  ...methods,
])
