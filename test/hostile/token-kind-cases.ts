import { paths } from '../../src/platform/http/paths.ts'
import { asResourceServer, introspect } from '../support/client.ts'
import { portal } from '../support/gatehouse.ts'
import { type Answer, basic, bearer, postForm, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { Held, World } from './world.ts'

/** Every address that takes an access token, and a request there that would be answered with it. */
const addresses: readonly (readonly [
  first: number,
  at: string,
  ask: (world: World, headers: readonly string[], query?: string) => Promise<Answer>,
])[] = [
  [
    2000,
    'UserInfo',
    async ({ url }, headers, query = '') =>
      await send(url, { path: paths.userinfo + query, headers }),
  ],
  [
    2030,
    'the Member API',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.graphql + query, { query: '{ viewer { id } }' }, headers),
  ],
  [
    2060,
    'the Admin API',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.adminGraphql + query, { query: '{ site { id } }' }, headers),
  ],
  [
    2090,
    '/mcp',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.mcp + query, toolsList, headers),
  ],
  [
    2120,
    '/mcp/member',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.mcpMember + query, toolsList, headers),
  ],
  [
    2150,
    '/mcp/admin',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.mcpAdmin + query, toolsList, headers),
  ],
  [
    2180,
    'the file upload',
    async ({ url }, headers, query = '') =>
      await send(url, {
        method: 'POST',
        path: `${paths.adminFiles}${query}`,
        headers: ['Content-Type', 'image/png', ...headers],
        body: 'x',
      }),
  ],
]

const toolsList = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }

async function postJson(
  address: string,
  body: unknown,
  headers: readonly string[],
): Promise<Answer> {
  const { origin: url } = new URL(address)
  const path = address.slice(url.length)
  return await send(url, {
    method: 'POST',
    path,
    headers: ['Content-Type', 'application/json', ...headers],
    body: JSON.stringify(body),
  })
}

/** Values that are not access tokens. */
const kinds: readonly (readonly [what: string, value: (held: Held) => string])[] = [
  ['refresh token', ({ refreshToken }) => refreshToken],
  ['id_token', ({ idToken }) => idToken],
  ['code', ({ form }) => String(form['code'])],
  ['client secret', () => portal.clientSecret],
  ['truncated access token (CVE-2026-27840)', ({ accessToken }) => accessToken.slice(0, -1)],
  ['half an access token (CVE-2026-27840)', ({ accessToken }) => accessToken.slice(0, 22)],
  ['access token with an extra character', ({ accessToken }) => `${accessToken}A`],
  ['access token in upper case', ({ accessToken }) => accessToken.toUpperCase()],
  [
    'unsigned JWT (CVE-2026-55669)',
    () => `${part({ alg: 'none' })}.${part({ sub: 'per_sam', scope: 'account:read', aud: 'x' })}.`,
  ],
  [
    'id_token of this service without its signature',
    ({ idToken }) => `${idToken.split('.').slice(0, 2).join('.')}.`,
  ],
  ['name of an inherited property', () => '__proto__'],
  ['8,000 characters', () => 'x'.repeat(8000)],
  ['access token with a changed character near its end', ({ accessToken }) => forged(accessToken)],
]

/** Forges a token of the right form. */
function forged(token: string): string {
  return token.slice(0, -5) + (token.at(-5) === 'A' ? 'B' : 'A') + token.slice(-4)
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const kindRows = addresses.flatMap(([first, at, ask]) =>
  kinds.map(
    ([what, value], position): Row => [
      first + position,
      [what, `at ${at}`],
      '401 invalid_token',
      async (world) => await ask(world, bearer(value(await world.shared()))),
    ],
  ),
)

/** Valid tokens, sent in a wrong way (RFC 6750 §2). */
const ways: readonly (readonly [
  what: string,
  answer: string,
  headers: (token: string) => readonly string[],
  query?: (token: string) => string,
])[] = [
  ['in the query', 'in the query', () => [], (token) => `?access_token=${token}`],
  ['in a cookie', 'as without', (token) => ['Cookie', `access_token=${token}; token=${token}`]],
  ['as a password (Basic)', 'malformed', (token) => basic('x', token)],
  ['with another scheme', 'malformed', (token) => ['Authorization', `Token ${token}`]],
  ['without a space before it', 'malformed', (token) => ['Authorization', `Bearer${token}`]],
  [
    'followed by a comma and a second token',
    'malformed',
    (token) => ['Authorization', `Bearer ${token}, Bearer ${token}`],
  ],
  ['in quotation marks', 'unknown', (token) => ['Authorization', `Bearer "${token}"`]],
  [
    'in two headers with different values',
    'malformed',
    (token) => ['Authorization', 'Bearer x', 'Authorization', `Bearer ${token}`],
  ],
]

/** UserInfo distinguishes malformed requests from invalid tokens; anonymous callers may use public tools. */
function answerOf(at: string, why: string): string {
  const isUserinfo = at === 'UserInfo'
  if (isUserinfo && why === 'in the query') return '400 invalid_request'
  if (why === 'malformed') return isUserinfo ? '400 invalid_request' : '401 invalid_token'
  if (at === '/mcp' && why !== 'unknown') return '200'
  return '401 invalid_token'
}

const wayRows = addresses.flatMap(([first, at, ask]) =>
  ways.map(
    ([what, why, headers, query], position): Row => [
      first + 15 + position,
      [`access token ${what}`, `at ${at}`],
      answerOf(at, why),
      async (world) => {
        const { accessToken } = await world.shared()
        return await ask(world, headers(accessToken), query?.(accessToken))
      },
    ],
  ),
)

/** Introspection reveals nothing about values that are not tokens (RFC 7662 §2.2, CVE-2026-33496). */
const introspections = kinds
  .filter(([what]) => what !== 'refresh token')
  .map(
    ([what, value], position): Row => [
      2220 + position,
      `introspection: ${what}`,
      '200 inactive',
      async (world) => {
        const held = await world.shared()
        return [
          await introspect(world.url, held.accessToken).then(async (good) => {
            if (good.body.active !== true) throw new Error('the good one is not active')
            return await introspect(world.url, value(held))
          }),
          await introspect(world.url, value(held), { token_type_hint: 'access_token' }),
          await introspect(world.url, value(held), { token_type_hint: 'refresh_token' }),
        ]
      },
    ],
  )

/** Member tokens at operator endpoints, and the reverse. */
const audiences: readonly Row[] = [
  [
    2240,
    'member token at the Admin API',
    '403 insufficient_scope',
    async (world) =>
      await postJson(
        world.url + paths.adminGraphql,
        { query: '{ site { id } }' },
        bearer((await world.shared()).accessToken),
      ),
  ],
  [
    2241,
    'operator token at the Member API',
    '403 insufficient_scope',
    async (world) =>
      await postJson(
        world.url + paths.graphql,
        { query: '{ viewer { id } }' },
        bearer(await world.operator()),
      ),
  ],
  [
    2242,
    'member token at the operator tools',
    '403 insufficient_scope',
    async (world) =>
      await postJson(
        world.url + paths.mcpAdmin,
        toolsList,
        bearer((await world.shared()).accessToken),
      ),
  ],
  [
    2243,
    'operator token at the member tools',
    '403 insufficient_scope',
    async (world) =>
      await postJson(world.url + paths.mcpMember, toolsList, bearer(await world.operator())),
  ],
  [
    2244,
    'member token at the file upload',
    '403 insufficient_scope',
    async (world) =>
      await send(world.url, {
        method: 'POST',
        path: `${paths.adminFiles}?name=a.png`,
        headers: ['Content-Type', 'image/png', ...bearer((await world.shared()).accessToken)],
        body: 'x',
      }),
  ],
  [
    2245,
    'introspection with a token instead of credentials',
    '401 invalid_client',
    async (world) => {
      const { accessToken } = await world.shared()
      return await postForm(
        world.url + paths.introspection,
        { token: accessToken },
        bearer(accessToken),
      )
    },
  ],
  [
    2246,
    'introspection by another, public client',
    '200 inactive',
    async (world) =>
      await postForm(world.url + paths.introspection, {
        token: (await world.shared()).accessToken,
        client_id: 'integration-claude',
      }),
  ],
  [
    2247,
    'introspection by another, confidential client',
    '200 inactive',
    async (world) =>
      await postForm(world.url + paths.introspection, {
        token: (await world.shared()).accessToken,
        client_id: portal.clientId,
        client_secret: portal.clientSecret,
      }),
  ],
  [
    2248,
    'introspection without a token',
    '400 invalid_request',
    async (world) => [
      await postForm(world.url + paths.introspection, asResourceServer),
      await postForm(world.url + paths.introspection, { ...asResourceServer, token: '' }),
    ],
  ],
]

export const tokenKindCases = tableOf('Access tokens', 'token-kind-cases.ts', [
  ...kindRows,
  ...wayRows,
  ...introspections,
  ...audiences,
])
