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
    'the tools',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.mcp + query, toolsList, headers),
  ],
  [
    2120,
    'the tools of members',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.mcpMember + query, toolsList, headers),
  ],
  [
    2150,
    'the tools of operators',
    async ({ url }, headers, query = '') =>
      await postJson(url + paths.mcpAdmin + query, toolsList, headers),
  ],
  [
    2180,
    'the upload of files',
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

/** What is no access token, and how it is brought. */
const kinds: readonly (readonly [what: string, value: (held: Held) => string])[] = [
  ['a refresh token', ({ refreshToken }) => refreshToken],
  ['an id_token', ({ idToken }) => idToken],
  ['a code', ({ form }) => String(form['code'])],
  ['the secret of a client', () => portal.clientSecret],
  [
    'the beginning of an access token (CVE-2026-27840)',
    ({ accessToken }) => accessToken.slice(0, -1),
  ],
  ['half of an access token (CVE-2026-27840)', ({ accessToken }) => accessToken.slice(0, 22)],
  ['an access token with a letter more', ({ accessToken }) => `${accessToken}A`],
  ['an access token in capitals', ({ accessToken }) => accessToken.toUpperCase()],
  [
    'a JWT without a signature (CVE-2026-55669)',
    () => `${part({ alg: 'none' })}.${part({ sub: 'per_sam', scope: 'account:read', aud: 'x' })}.`,
  ],
  [
    'an id_token of this service, without its signature',
    ({ idToken }) => `${idToken.split('.').slice(0, 2).join('.')}.`,
  ],
  ['what every object has', () => '__proto__'],
  ['8,000 letters', () => 'x'.repeat(8000)],
  ['an access token with a letter of its end changed', ({ accessToken }) => forged(accessToken)],
]

/** Forged, as far as somebody knows the form of a token. */
function forged(token: string): string {
  return token.slice(0, -5) + (token.at(-5) === 'A' ? 'B' : 'A') + token.slice(-4)
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const kindRows = addresses.flatMap(([first, at, ask]) =>
  kinds.map(
    ([what, value], position): Row => [
      first + position,
      `${what} for an access token, at ${at}`,
      '401 invalid_token',
      async (world) => await ask(world, bearer(value(await world.shared()))),
    ],
  ),
)

/** A good token in a way that is none (RFC 6750 §2). */
const ways: readonly (readonly [
  what: string,
  answer: string,
  headers: (token: string) => readonly string[],
  query?: (token: string) => string,
])[] = [
  ['in the address', 'in the address', () => [], (token) => `?access_token=${token}`],
  ['in a cookie', 'as without', (token) => ['Cookie', `access_token=${token}; token=${token}`]],
  ['as a password (Basic)', 'malformed', (token) => basic('x', token)],
  ['with another scheme', 'malformed', (token) => ['Authorization', `Token ${token}`]],
  ['with no space before it', 'malformed', (token) => ['Authorization', `Bearer${token}`]],
  [
    'with a comma and a second token behind it',
    'malformed',
    (token) => ['Authorization', `Bearer ${token}, Bearer ${token}`],
  ],
  ['in quotation marks', 'unknown', (token) => ['Authorization', `Bearer "${token}"`]],
  [
    'in two headers, with another',
    'malformed',
    (token) => ['Authorization', 'Bearer x', 'Authorization', `Bearer ${token}`],
  ],
]

/** UserInfo tells a request that is wrong from a token that is; an anonymous caller may see public tools. */
function answerOf(at: string, why: string): string {
  const isUserinfo = at === 'UserInfo'
  if (isUserinfo && why === 'in the address') return '400 invalid_request'
  if (why === 'malformed') return isUserinfo ? '400 invalid_request' : '401 invalid_token'
  if (at === 'the tools' && why !== 'unknown') return '200'
  return '401 invalid_token'
}

const wayRows = addresses.flatMap(([first, at, ask]) =>
  ways.map(
    ([what, why, headers, query], position): Row => [
      first + 15 + position,
      `an access token ${what}, at ${at}`,
      answerOf(at, why),
      async (world) => {
        const { accessToken } = await world.shared()
        return await ask(world, headers(accessToken), query?.(accessToken))
      },
    ],
  ),
)

/** Introspection is asked of what is no token, and says nothing but that (RFC 7662 §2.2, CVE-2026-33496). */
const introspections = kinds
  .filter(([what]) => what !== 'a refresh token')
  .map(
    ([what, value], position): Row => [
      2220 + position,
      `the introspection of ${what}`,
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

/** A member's token where operators are served, and the other way round. */
const audiences: readonly Row[] = [
  [
    2240,
    'a member’s token at the Admin API',
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
    'an operator’s token at the Member API',
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
    'a member’s token at the tools of operators',
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
    'an operator’s token at the tools of members',
    '403 insufficient_scope',
    async (world) =>
      await postJson(world.url + paths.mcpMember, toolsList, bearer(await world.operator())),
  ],
  [
    2244,
    'a member’s token at the upload of files',
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
    'a token for introspection in place of credentials',
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
    'an introspection of a token by a public client that is another',
    '200 inactive',
    async (world) =>
      await postForm(world.url + paths.introspection, {
        token: (await world.shared()).accessToken,
        client_id: 'integration-claude',
      }),
  ],
  [
    2247,
    'an introspection of a token of another client, by an application',
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
    'an introspection of nothing',
    '400 invalid_request',
    async (world) => [
      await postForm(world.url + paths.introspection, asResourceServer),
      await postForm(world.url + paths.introspection, { ...asResourceServer, token: '' }),
    ],
  ],
]

export const tokenKindCases = tableOf('What is no access token', 'token-kind-cases.ts', [
  ...kindRows,
  ...wayRows,
  ...introspections,
  ...audiences,
])
