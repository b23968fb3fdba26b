import { paths } from '../../src/platform/http/paths.ts'
import { asClaude, authorizeUrl } from '../support/client.ts'
import { notes, resourceServer } from '../support/gatehouse.ts'
import { type Answer, encode, type Fields, FORM, get, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import { ask, type World } from './world.ts'

/** The resource of a token, spelled so that another could be meant (RFC 8707 §2). */
const resources: readonly (readonly [what: string, respell: (url: string) => string])[] = [
  ['with a fragment', (url) => `${url}#x`],
  ['with an empty fragment', (url) => `${url}/#`],
  ['that is relative', () => '/mcp'],
  ['without a scheme', (url) => url.replace('http:', '')],
  ['with a name before the host', (url) => url.replace('//', '//evil@')],
  ['at another port', (url) => url.replace(/\d+$/, '1')],
  ['over another scheme', (url) => url.replace('http:', 'https:')],
  ['of a name below the host', (url) => url.replace('127.0.0.1', 'evil.127.0.0.1.example')],
  ['that begins like the origin', (url) => `${url}.evil.example`],
  ['with a dot segment out of a resource', (url) => `${url}/mcp/../../evil`],
  ['with an encoded dot segment', (url) => `${url}/%2e%2e/evil`],
  ['at a path that is protected by nobody', (url) => `${url}/elsewhere`],
  ['that runs script', () => 'javascript:alert(1)'],
  ['that is a name (urn:)', () => 'urn:gatehouse:member'],
  ['that names the machine otherwise', (url) => url.replace('127.0.0.1', '127.0.0.2')],
  ['of 8,000 characters', (url) => `${url}/${'x'.repeat(8000)}`],
]

const resourceRows = resources.map(
  ([what, respell], position): Row => [
    1500 + position,
    `a resource ${what} (GHSA-p2fr-6hmx-4528)`,
    'redirect invalid_target',
    async ({ url }) => await ask(url, { resource: respell(url) }),
  ],
)

/** Single parameters, and what is said of each. */
const parameters: readonly (readonly [
  what: string,
  answer: string,
  fields: Fields | ((world: World) => Promise<Fields>),
])[] = [
  ['member scopes without a resource', 'redirect invalid_target', { resource: undefined }],
  [
    'the member’s scope for writing by a platform',
    'redirect invalid_scope',
    { ...asClaude, scope: 'openid account:write' },
  ],
  [
    'both audiences by a member application',
    'redirect invalid_scope',
    { scope: 'account:read courses:read' },
  ],
  ['a scope in capitals', 'redirect invalid_scope', { scope: 'OPENID ACCOUNT:READ' }],
  ['scopes with a comma between', 'redirect invalid_scope', { scope: 'openid,account:read' }],
  ['scopes with a tab between', 'redirect invalid_scope', { scope: 'openid\taccount:read' }],
  [
    'a scope that every object has',
    'redirect invalid_scope',
    { scope: '__proto__ constructor toString' },
  ],
  [
    'a scope with a quotation mark (RFC 6749 §3.3)',
    'redirect invalid_scope',
    { scope: '"account:read"' },
  ],
  ['a scope with a wildcard', 'redirect invalid_scope', { scope: 'account:* *' }],
  ['markup for a scope', 'redirect invalid_scope', { scope: '<script>alert(1)</script>' }],
  [
    'an id_token_hint that is no token',
    'redirect invalid_request',
    { id_token_hint: 'x', prompt: 'none' },
  ],
  [
    'an id_token_hint without a signature',
    'redirect invalid_request',
    { id_token_hint: unsigned({ sub: 'per_sam' }), prompt: 'none' },
  ],
  [
    'the id_token_hint of a signed-in person, without the session',
    'redirect login_required',
    async (world) => ({ id_token_hint: (await world.shared()).idToken, prompt: 'none' }),
  ],
  [
    'the access token as a session',
    'redirect login_required',
    async (world) => ({ access_token: (await world.shared()).accessToken, prompt: 'none' }),
  ],
  ['prompt=create', 'redirect invalid_request', { prompt: 'create' }],
  [
    'response_type with a second type in it',
    'redirect unsupported_response_type',
    { response_type: 'code id_token token' },
  ],
  [
    'response_mode that is none',
    'redirect unsupported_response_mode',
    { response_mode: 'constructor' },
  ],
  ['max_age that is no whole number', 'redirect invalid_request', { max_age: '1.5' }],
  [
    'a signed request (JAR), which is not supported',
    'redirect request_not_supported',
    { request: `${unsigned({ scope: 'openid' })}x` },
  ],
  [
    'the request of nobody by reference (PAR)',
    'redirect request_uri_not_supported',
    { request_uri: 'urn:ietf:params:oauth:request_uri:x' },
  ],
  [
    'a request by reference at a file',
    'redirect request_uri_not_supported',
    { request_uri: 'file:///etc/passwd' },
  ],
  [
    'a request by reference at the service itself (CVE-2026-27945)',
    'redirect request_uri_not_supported',
    async ({ url }) => ({ request_uri: `${url}/healthz` }),
  ],
  [
    'a challenge of another alphabet',
    'redirect invalid_request',
    { code_challenge: 'é'.repeat(43) },
  ],
  [
    'a method with a space after it, taken for plain (workers-oauth-provider #275)',
    'redirect invalid_request',
    { code_challenge_method: 'S256 ' },
  ],
  [
    'a client of nobody in the words of a database',
    'page 400 invalid_client',
    { client_id: "northlight-notes' or '1'='1" },
  ],
  [
    'a client in other letters',
    'page 400 invalid_client',
    { client_id: notes.clientId.toUpperCase() },
  ],
  [
    'a client with a space after it',
    'page 400 invalid_client',
    { client_id: `${notes.clientId} ` },
  ],
  ['a client with a NUL after it', 'page 400 invalid_client', { client_id: `${notes.clientId}\0` }],
  [
    'a resource server as the client',
    'page 400 invalid_redirect_uri',
    { client_id: resourceServer.clientId },
  ],
  [
    'the client of the pages of this service, with an address of a stranger',
    'page 400 invalid_redirect_uri',
    { client_id: 'gatehouse-pages' },
  ],
  [
    'credentials of the client in the address',
    'the sign-in',
    { client_secret: 'x', client_assertion: 'a.b.c' },
  ],
  [
    'a grant, a person and a site of the caller’s choice',
    'the sign-in',
    { grant_id: 'x', sub: 'per_olivia', account_id: 'per_olivia', site: 'sit_open_kitchen' },
  ],
  ['languages without an end', 'redirect invalid_request', { ui_locales: 'x-'.repeat(2000) }],
  [
    'claims that nobody supports, nested deep',
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
    `${what}, at the authorization endpoint`,
    answer,
    async (world) =>
      await ask(world.url, typeof fields === 'function' ? await fields(world) : fields),
  ],
)

/** Whatever comes to the authorization endpoint by POST is sent on to GET, where it is judged. */
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
    'a foreign redirect address by POST',
    'page 400 invalid_redirect_uri',
    async ({ url }) => await askByPost(url, { redirect_uri: 'https://evil.example/' }),
  ],
  [
    1601,
    'two redirect addresses by POST (CVE-2026-9689)',
    'page 400 invalid_request',
    async ({ url }) =>
      await askByPost(url, { redirect_uri: [notes.redirectUri, 'https://evil.example/'] }),
  ],
  [
    1602,
    'no challenge by POST',
    'redirect invalid_request',
    async ({ url }) => await askByPost(url, { code_challenge: undefined }),
  ],
  [
    1603,
    'a foreign resource by POST',
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
    'the authorization request as multipart',
    'page 415 invalid_request',
    async ({ url }) => await askByPost(url, {}, 'multipart/form-data; boundary=x'),
  ],
  [
    1606,
    'the authorization request as text, which a page of another site may send',
    'page 415 invalid_request',
    async ({ url }) => await askByPost(url, {}, 'text/plain'),
  ],
  ...['PUT', 'DELETE', 'PATCH', 'TRACE'].map(
    (method, position): Row => [
      1610 + position,
      `the authorization request by ${method}`,
      'page 404 not_found',
      async ({ url }) => await ask(url, {}, { method }),
    ],
  ),
  [
    1620,
    'a Bearer token in the header for a session',
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
    'a method in a header',
    'the sign-in',
    async ({ url }) => await ask(url, {}, { headers: ['X-HTTP-Method-Override', 'DELETE'] }),
  ],
  [
    1622,
    'a made-up session cookie',
    'redirect login_required',
    async ({ url }) =>
      await ask(url, { prompt: 'none' }, { headers: ['Cookie', 'gatehouse=x; gatehouse.sig=x'] }),
  ],
  [
    1623,
    'a session cookie without its signature',
    'redirect login_required',
    async ({ url }) =>
      await ask(url, { prompt: 'none' }, { headers: ['Cookie', 'gatehouse=__proto__'] }),
  ],
  [
    1624,
    'the foreign host of a rebound name (CVE-2025-64101)',
    'the sign-in',
    async ({ url }) => await ask(url, {}, { headers: ['Host', 'evil.example'] }),
  ],
  [
    1625,
    'a forwarded host (GHSA-93m4-mfpg-c3xf)',
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
    'the address in another spelling, past what guards a prefix',
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

export const authorizationCases = tableOf('What is asked for', 'authorization-cases.ts', [
  ...resourceRows,
  ...parameterRows,
  ...methods,
])
