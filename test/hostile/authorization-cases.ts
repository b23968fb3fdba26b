import { paths } from '../../src/platform/http/paths.ts'
import { asClaude, authorizeUrl } from '../support/client.ts'
import { notes, resourceServer } from '../support/gatehouse.ts'
import { unsignedJwt } from '../support/proofs.ts'
import { bearer, encode, type Fields, FORM, get, send } from '../support/wire.ts'
import { answered, type Entries, numbered, type Row, tableOf } from './case.ts'
import { ask, type World } from './world.ts'

const foreign = 'https://evil.example/'
const silent = { prompt: 'none' }
const HTML = ['Accept', 'text/html']
const TARGET = 'redirect invalid_target'
const SCOPE = 'redirect invalid_scope'
const REQUEST = 'redirect invalid_request'
const LOGIN = 'redirect login_required'
const NO_URI = 'redirect request_uri_not_supported'
const UNSUPPORTED = 'page 415 invalid_request'
const CLIENT = 'page 400 invalid_client'
const REDIRECT = 'page 400 invalid_redirect_uri'
const SIGN_IN = 'the sign-in'
const unsigned = unsignedJwt({ sub: 'per_sam' })
const bothAudiences = 'account:read courses:read'

/** Creates a case with a `resource` that resembles the right one (RFC 8707 §2). test/resources.test.ts has more. */
const ofResource = (number: number, what: string, respell: (url: string) => string): Row => [
  number,
  `resource ${what} (GHSA-p2fr-6hmx-4528)`,
  TARGET,
  async ({ url }) => await ask(url, { resource: respell(url) }),
]

const resourceRows = [
  ofResource(1500, 'with a fragment', (url) => `${url}#x`),
  ofResource(1508, 'with the origin as prefix', (url) => `${url}.evil.example`),
  ofResource(1515, 'of 8,000 characters', (url) => `${url}/${'x'.repeat(8000)}`),
]

const severalTypes = { response_type: 'code id_token token' }
const requestObject = `${unsignedJwt({ scope: 'openid' })}x`
const platform = { ...asClaude, scope: 'openid account:read' }

const spaced = { code_challenge_method: 'S256 ' }
const olivias = { sub: 'per_olivia', account_id: 'per_olivia' }
const claimed = { ...olivias, grant_id: 'x', site: 'sit_open_kitchen' }
const withOwnUri = async ({ url }: World) => ({ request_uri: `${url}/healthz` })
const hinted = async ({ shared }: World) => ({ id_token_hint: (await shared()).idToken, ...silent })
const withAccessToken = async ({ shared }: World) => ({
  ...{ access_token: (await shared()).accessToken, ...silent },
})

/** Requests with unusual parameters, and the expected answers. */
const parameters: Entries<[fields: Fields | ((world: World) => Promise<Fields>)]> = [
  ['member scopes without a resource', TARGET, { resource: undefined }],
  ['account:write by a platform', SCOPE, { ...asClaude, scope: 'openid account:write' }],
  ['scopes of both audiences by a member application', SCOPE, { scope: bothAudiences }],
  ['scope in upper case', SCOPE, { scope: 'OPENID ACCOUNT:READ' }],
  ['scopes separated by a comma', SCOPE, { scope: 'openid,account:read' }],
  ['scopes separated by a tab', SCOPE, { scope: 'openid\taccount:read' }],
  ['scope named like an inherited property', SCOPE, { scope: '__proto__ constructor toString' }],
  ['scope with a quotation mark (RFC 6749 §3.3)', SCOPE, { scope: '"account:read"' }],
  ['scope with a wildcard', SCOPE, { scope: 'account:* *' }],
  ['scope with markup', SCOPE, { scope: '<script>alert(1)</script>' }],
  ['invalid id_token_hint', REQUEST, { id_token_hint: 'x', prompt: 'none' }],
  ['unsigned id_token_hint', REQUEST, { id_token_hint: unsigned, ...silent }],
  ['id_token_hint of a signed-in person without the session', LOGIN, hinted],
  ['access token instead of a session', LOGIN, withAccessToken],
  ['prompt=create', REQUEST, { prompt: 'create' }],
  ['response_type with several types', 'redirect unsupported_response_type', severalTypes],
  ['unknown response_mode', 'redirect unsupported_response_mode', { response_mode: 'constructor' }],
  ['fractional max_age', REQUEST, { max_age: '1.5' }],
  ['request object (JAR)', 'redirect request_not_supported', { request: requestObject }],
  ['unknown request_uri (PAR)', NO_URI, { request_uri: 'urn:ietf:params:oauth:request_uri:x' }],
  ['request_uri of a file', NO_URI, { request_uri: 'file:///etc/passwd' }],
  ['request_uri of this service (CVE-2026-27945)', NO_URI, withOwnUri],
  ['code_challenge with characters outside base64url', REQUEST, { code_challenge: 'é'.repeat(43) }],
  ['code_challenge_method with a trailing space (workers-oauth-provider #275)', REQUEST, spaced],
  ['client_id with SQL', CLIENT, { client_id: "northlight-notes' or '1'='1" }],
  ['client_id in upper case', CLIENT, { client_id: notes.clientId.toUpperCase() }],
  ['client_id with a trailing space', CLIENT, { client_id: `${notes.clientId} ` }],
  ['client_id with a trailing NUL', CLIENT, { client_id: `${notes.clientId}\0` }],
  ['client_id of a resource server', REDIRECT, { client_id: resourceServer.clientId }],
  ['client of our pages with a foreign redirect URI', REDIRECT, { client_id: 'gatehouse-pages' }],
  ['client credentials in the query', SIGN_IN, { client_secret: 'x', client_assertion: 'a.b.c' }],
  ['grant, person and site in the query', SIGN_IN, claimed],
  ['very long ui_locales', REQUEST, { ui_locales: 'x-'.repeat(2000) }],
  ['deeply nested claims', REQUEST, { claims: `${'{"a":'.repeat(500)}1${'}'.repeat(500)}` }],
  ['no response_type', REQUEST, { response_type: undefined }],
  ['no scope and no resource', SCOPE, { scope: undefined, resource: undefined }],
  ['blank scope without a resource', SCOPE, { scope: ' ', resource: undefined }],
  ['unknown scopes only', SCOPE, { scope: 'courses:delete magic *' }],
  ['operator scope by a member application', SCOPE, { scope: 'openid courses:read' }],
  ['account scope by a platform without a resource', SCOPE, { ...platform, resource: undefined }],
  ['account scope by a platform for a foreign resource', SCOPE, { ...platform, resource: foreign }],
  ['account and operator scope by a platform', SCOPE, { ...asClaude, scope: bothAudiences }],
  ['negative max_age', REQUEST, { max_age: '-1' }],
  ['max_age of letters', REQUEST, { max_age: 'abc' }],
  ['max_age of twenty digits', REQUEST, { max_age: '9'.repeat(20) }],
  ['prompt=none beside login', REQUEST, { prompt: 'none login' }],
  ['prompt=none beside consent', REQUEST, { prompt: 'none consent' }],
  ['unknown value of prompt', REQUEST, { prompt: 'nonsense' }],
  ['unknown value of prompt beside login', REQUEST, { prompt: 'login <b>' }],
  ['truncated claims', REQUEST, { claims: '{' }],
  ['list as claims', REQUEST, { claims: '[]' }],
  ['number as a part of claims', REQUEST, { claims: '{"id_token":1}' }],
]

const parameterRows = numbered(
  1540,
  parameters,
  async (world, [fields]) =>
    await ask(world.url, typeof fields === 'function' ? await fields(world) : fields),
)

const twoUris = { redirect_uri: [notes.redirectUri, foreign] }
const posts: Entries<[fields: Fields, type?: string]> = [
  ['foreign redirect URI by POST', REDIRECT, { redirect_uri: foreign }],
  ['two redirect URIs by POST (CVE-2026-9689)', 'page 400 invalid_request', twoUris],
  ['no code_challenge by POST', REQUEST, { code_challenge: undefined }],
  ['foreign resource by POST', TARGET, { resource: foreign }],
  ['prompt=none by POST, without a session', LOGIN, silent],
  ['request as multipart', UNSUPPORTED, {}, 'multipart/form-data; boundary=x'],
  ['request as text/plain, which foreign pages may send', UNSUPPORTED, {}, 'text/plain'],
]

/** Sends requests by POST. If the endpoint redirects, the case is about the response to the GET that follows. */
const postRows = numbered(1600, posts, async ({ url }, [fields, type = FORM[1] ?? '']) => {
  const { searchParams: body } = authorizeUrl(url, fields)
  const headers = ['Content-Type', type, ...HTML]
  const posted = await send(url, { method: 'POST', path: paths.authorization, headers, body })
  const location = posted.headers.get('location')
  return location === null ? posted : await get(new URL(location, url).href, HTML)
})

const methodRows = numbered(
  { first: 1610, attack: (method) => `request by ${method}` },
  answered(
    'page 405 invalid_request',
    ['PUT', 'DELETE', 'PATCH', 'TRACE'].map((method) => [method, method] as const),
  ),
  async ({ url }, [method]) => await ask(url, {}, { method }),
)

const forwardedHost = ['X-Forwarded-Host', 'evil.example', 'Forwarded', 'host=evil.example']
const headers: Entries<[fields: Fields, ...headers: string[]]> = [
  ['method override header', SIGN_IN, {}, 'X-HTTP-Method-Override', 'DELETE'],
  ['forged session cookie', LOGIN, silent, 'Cookie', 'gatehouse=x; gatehouse.sig=x'],
  ['session cookie without signature', LOGIN, silent, 'Cookie', 'gatehouse=__proto__'],
  ['foreign Host, as after DNS rebinding (CVE-2025-64101)', SIGN_IN, {}, 'Host', 'evil.example'],
  ['foreign X-Forwarded-Host (GHSA-93m4-mfpg-c3xf)', SIGN_IN, {}, ...forwardedHost],
]

const headerRows = [
  ...numbered(1620, [['bearer token instead of a session', LOGIN]], async ({ url, shared }) => {
    return await ask(url, silent, { headers: bearer((await shared()).accessToken) })
  }),
  ...numbered(1621, headers, async ({ url }, [fields, ...sent]) => {
    return await ask(url, fields, { headers: sent })
  }),
]

const spellings: Row = [
  1626,
  'path in other spellings, to bypass a prefix rule',
  'page 404 not_found',
  async ({ url }) => {
    const slashed = `${paths.authorization}/?${encode({ client_id: 'x' })}`
    const respelled = ['/oauth//authorize', '/oauth/%61uthorize', '/oauth/x/..;/authorize']
    const all = [slashed, '/OAUTH/AUTHORIZE', ...respelled]
    return await Promise.all(all.map(async (path) => await send(url, { path, headers: HTML })))
  },
]

export const authorizationCases = tableOf('Authorization requests', 'authorization-cases.ts', [
  ...resourceRows,
  ...parameterRows,
  ...postRows,
  ...methodRows,
  ...headerRows,
  spellings,
])
